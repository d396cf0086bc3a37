package bind

import (
	"database/sql/driver"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Scopes returns the values within which the keys of a column of an INSERT are numbered in
// one execution. For each key that the column takes, in order, it has the row's values of
// the key's Scope columns. It is nil if the key has no Scope.
//
// The value of an argument is the one that the driver gets, with Valuers and pointers
// resolved. An integer in the text, or a value that the text casts to an integer, is an
// int64, or a uint64 if it does not fit; a text is a string. No value is nil: if a row has
// NULL there, its key is refused with [rewrite.ErrScope], as by [FindHoles]. Scopes does
// not decide whether two values mean the same parent.
func Scopes(pl *plans.Plan, args []driver.NamedValue, h Holes, insert, key int) ([][]driver.Value, error) {
	in := &pl.Inserts[insert]
	columns := in.Target.Keys[key].Scope
	if columns == nil {
		return nil, nil
	}
	var rows [][]driver.Value
	given := Given{List: args}
	for _, i := range pl.SlotsOf(insert) {
		s := &pl.Changes.Slots[i]
		if int(s.Key) != key || h.Fill != nil && !h.Fill[i] {
			continue
		}
		row := make([]driver.Value, len(columns))
		for c, column := range columns {
			v, err := scopeAt(pl, &given, h, int(i), column)
			if err != nil {
				return nil, err
			}
			row[c] = v
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// checkScopes returns an error if a row takes a key, and a value is missing within which
// the key is numbered.
func checkScopes(pl *plans.Plan, args []driver.NamedValue, h Holes) error {
	given := Given{List: args}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		in := &pl.Inserts[s.Insert]
		if in.Scopes == nil || in.Explained || h.Fill != nil && !h.Fill[i] {
			continue
		}
		for _, column := range in.Target.Keys[s.Key].Scope {
			if _, err := scopeAt(pl, &given, h, i, column); err != nil {
				return err
			}
		}
	}
	return nil
}

// scopeAt returns the value of a column in the row of the i-th slot (place for a key).
func scopeAt(pl *plans.Plan, args *Given, h Holes, i int, column string) (driver.Value, error) {
	s := &pl.Changes.Slots[i]
	in := &pl.Inserts[s.Insert]
	var v plans.ScopeValue
	refused := func() error {
		r := plans.ScopeRefusal(in.Target, &in.Target.Keys[s.Key], max(v.At, in.Offset), column)
		r.Others = pl.Others(in.Target)
		return r
	}
	if in.Scopes == nil {
		return nil, refused()
	}
	v = in.Scopes.Value(int(s.Row), column)
	if !v.Serves(&in.Target.Keys[s.Key], column) || fillsColumn(pl, h, i, column) {
		return nil, refused()
	}
	switch v.Kind {
	case plans.ScopeInteger:
		n, _ := plans.IntegerLiteral(v.Text)
		return n, nil
	case plans.ScopeText, plans.ScopeDate:
		text, _ := plans.TextLiteral(v.Text)
		if text == "" && pl.Dialect.EmptyIsNull {
			return nil, refused()
		}
		return text, nil
	}
	at, err := IndexOf(pl, &plans.Slot{Before: int32(v.Before), Text: v.Text}, args)
	if err != nil {
		return nil, err
	}
	value, ok := scopeArgument(pl, args.List[at].Value, v.Kind)
	if !ok {
		return nil, refused()
	}
	return value, nil
}

// fillsColumn reports whether a column, in the row of the i-th slot (place for a key), is
// itself a key that is filled in the execution.
func fillsColumn(pl *plans.Plan, h Holes, i int, column string) bool {
	s := &pl.Changes.Slots[i]
	keys := pl.Inserts[s.Insert].Target.Keys
	if !slices.ContainsFunc(keys, func(k plans.Key) bool { return k.Column == column }) {
		return false
	}
	// The slots (places for keys) of a row are adjacent.
	same := func(o *plans.Slot) bool { return o.Insert == s.Insert && o.Row == s.Row }
	first := i
	for first > 0 && same(&pl.Changes.Slots[first-1]) {
		first--
	}
	for j := first; j < len(pl.Changes.Slots) && same(&pl.Changes.Slots[j]); j++ {
		if keys[pl.Changes.Slots[j].Key].Column == column && (h.Fill == nil || h.Fill[j]) {
			return true
		}
	}
	return false
}

// scopeArgument returns the value that an argument gives a column. It reports false if
// the argument is NULL or not of the type that it is cast to.
func scopeArgument(pl *plans.Plan, v driver.Value, kind plans.ScopeKind) (driver.Value, bool) {
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
	case plans.ScopeToInt:
		// Two spellings of a number must give one value.
		switch t := v.(type) {
		case int64:
			return t, true
		case string:
			n, err := strconv.ParseInt(t, 10, 64)
			return n, err == nil && n != math.MinInt64
		}
		return nil, false
	case plans.ScopeToText:
		_, text := v.(string)
		return v, text
	}
	return v, true
}

// encodesItself reports whether a value is not a Valuer, but encodes itself for pgx:
// "Int64Valuer" and "TextValuer" of its package pgtype.
//
// Each name is a constant in the call. With a variable there, the linker would have to keep
// every exported method of every type in the application.
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
