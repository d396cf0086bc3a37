package rewrite

import (
	"database/sql/driver"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Scopes returns the values within which the keys of a column of an INSERT are
// numbered in one execution: for each key that it takes, in their order, the
// row's values of the key's Scope columns. It is nil where the key has no Scope.
//
// The value of an argument comes as the driver gets it, with Valuers and pointers
// resolved. An integer in the text, or a value that the text casts to an integer,
// comes as an int64, or as a uint64 where it does not fit; a text comes as a
// string. It is never nil: a key of a row with NULL there is refused with
// [ErrScope], as by [Plan.Holes]. Whether two values are the same parent is not
// decided here.
func (pl *Plan) Scopes(args []driver.NamedValue, h Holes, insert, key int) ([][]driver.Value, error) {
	in := &pl.Inserts[insert]
	columns := in.Target.Keys[key].Scope
	if columns == nil {
		return nil, nil
	}
	var rows [][]driver.Value
	given := arguments{list: args}
	for _, i := range pl.slotsOf(insert) {
		s := &pl.slots[i]
		if int(s.key) != key || h.fill != nil && !h.fill[i] {
			continue
		}
		row := make([]driver.Value, len(columns))
		for c, column := range columns {
			v, err := pl.scopeAt(&given, h, int(i), column)
			if err != nil {
				return nil, err
			}
			row[c] = v
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// checkScopes returns the error of a hole in a row without a value that its key is
// numbered within.
func (pl *Plan) checkScopes(args []driver.NamedValue, h Holes) error {
	given := arguments{list: args}
	for i := range pl.slots {
		s := &pl.slots[i]
		in := &pl.Inserts[s.insert]
		if in.scopes == nil || in.Explained || h.fill != nil && !h.fill[i] {
			continue
		}
		for _, column := range in.Target.Keys[s.key].Scope {
			if _, err := pl.scopeAt(&given, h, i, column); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasScopes reports whether a key is numbered within other columns.
func (pl *Plan) hasScopes() bool {
	for i := range pl.slots {
		s := &pl.slots[i]
		in := &pl.Inserts[s.insert]
		if in.scopes != nil && !in.Explained && in.Target.Keys[s.key].Scope != nil {
			return true
		}
	}
	return false
}

// scopeAt returns the value of a column in the row of the i-th slot.
func (pl *Plan) scopeAt(args *arguments, h Holes, i int, column string) (driver.Value, error) {
	s := &pl.slots[i]
	in := &pl.Inserts[s.insert]
	var v scopeValue
	refused := func() error {
		r := scopeRefusal(in.Target, &in.Target.Keys[s.key], max(v.at, in.Offset), column)
		r.Others = pl.others(in.Target)
		return r
	}
	if in.scopes == nil {
		return nil, refused()
	}
	v = in.scopes.value(int(s.row), column)
	if v.kind == scopeNone || pl.fillsColumn(h, i, column) {
		return nil, refused()
	}
	switch v.kind {
	case scopeInteger:
		n, _ := integerLiteral(v.text)
		return n, nil
	case scopeText:
		text, _ := textLiteral(v.text)
		if text == "" && pl.Dialect.EmptyIsNull {
			return nil, refused()
		}
		return text, nil
	}
	at, err := pl.argument(&slot{before: int32(v.before), text: v.text}, args)
	if err != nil {
		return nil, err
	}
	value, ok := pl.scopeArgument(args.list[at].Value, v.kind)
	if !ok {
		return nil, refused()
	}
	return value, nil
}

// fillsColumn reports whether a column of the row of the i-th slot is itself a
// key that is filled in the execution.
func (pl *Plan) fillsColumn(h Holes, i int, column string) bool {
	s := &pl.slots[i]
	keys := pl.Inserts[s.insert].Target.Keys
	if !slices.ContainsFunc(keys, func(k Key) bool { return k.Column == column }) {
		return false
	}
	// The slots of a row stand together.
	same := func(o *slot) bool { return o.insert == s.insert && o.row == s.row }
	first := i
	for first > 0 && same(&pl.slots[first-1]) {
		first--
	}
	for j := first; j < len(pl.slots) && same(&pl.slots[j]); j++ {
		if keys[pl.slots[j].key].Column == column && (h.fill == nil || h.fill[j]) {
			return true
		}
	}
	return false
}

// scopeArgument returns the value that an argument gives a column, and false
// where the argument is NULL or not of the type that it is cast to.
func (pl *Plan) scopeArgument(v driver.Value, kind scopeKind) (driver.Value, bool) {
	if v != nil && !driver.IsValue(v) && !encodesItself(v) {
		if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
			v = r
		}
	}
	switch b := v.(type) {
	case nil:
		return nil, false
	case []byte:
		if b == nil {
			return nil, false
		}
	case string:
		if b == "" && pl.Dialect.EmptyIsNull {
			return nil, false
		}
	}
	switch kind {
	case scopeToInt:
		// Two spellings of a number become one.
		switch t := v.(type) {
		case int64:
			return t, true
		case string:
			n, err := strconv.ParseInt(t, 10, 64)
			return n, err == nil && n != math.MinInt64
		}
		return nil, false
	case scopeToText:
		_, text := v.(string)
		return v, text
	}
	return v, true
}

// encodesItself reports whether a value that is no Valuer tells pgx what to send:
// "Int64Valuer" and "TextValuer" of its package pgtype.
//
// Each name is a constant in the call. With a variable there, the linker would
// have to keep every exported method of every type in the application.
func encodesItself(v driver.Value) bool {
	if _, ok := v.(driver.Valuer); ok {
		return false
	}
	t := reflect.TypeOf(v)
	if _, ok := t.MethodByName("Int64Value"); ok {
		return true
	}
	_, ok := t.MethodByName("TextValue")
	return ok
}
