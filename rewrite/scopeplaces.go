package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// A key may be numbered within the values of other columns of its row: the lines
// of each order from 1 on. These values are then needed before the statement is
// sent, and taken from where they stand in it: as an argument or a literal. A
// key is refused when it needs a value that only the engine knows: an
// expression, a default, a row of a query.

// scoping describes where an INSERT gives the columns that keys are numbered
// within.
type scoping struct {
	columns []string     // folded, each once
	listed  []int        // for each of columns its index in the column list; notListed, or listedBadly
	values  []scopeValue // for each row one for each of columns
}

const (
	notListed   = -1
	listedBadly = -2 // twice, or with a field or a subscript
)

// scopeKind says what stands in a scope column's place.
type scopeKind uint8

const (
	scopeNone     scopeKind = iota // nothing that is known here
	scopeArgument                  // a placeholder
	scopeToInt                     // a placeholder that is cast to an integer
	scopeToText                    // a placeholder that is cast to text
	scopeInteger                   // an integer literal
	scopeText                      // a quoted text
)

// scopeValue is the value of a scope column in a row.
type scopeValue struct {
	kind   scopeKind
	at     int    // where it stands, or the row
	before int    // the caller's placeholders in front of it
	text   string // as it is written
}

// scopesOf returns the columns that the keys of a table are numbered within; nil
// where there are none.
func scopesOf(t *Target) *scoping {
	var s *scoping
	for i := range t.Keys {
		for _, c := range t.Keys[i].Scope {
			if s == nil {
				s = &scoping{}
			}
			if !slices.Contains(s.columns, c) {
				s.columns, s.listed = append(s.columns, c), append(s.listed, notListed)
			}
		}
	}
	return s
}

// list notes the n-th column of the list, counted from 0.
func (s *scoping) list(column string, n int, plain bool) {
	i := slices.Index(s.columns, column)
	switch {
	case i < 0:
	case s.listed[i] != notListed || !plain:
		s.listed[i] = listedBadly
	default:
		s.listed[i] = n
	}
}

// begin begins a row at an offset.
func (s *scoping) begin(at int) {
	for range s.columns {
		s.values = append(s.values, scopeValue{at: at})
	}
}

// take notes the n-th value of the last row.
func (s *scoping) take(p *reader, n int, v value) {
	row := s.values[len(s.values)-len(s.columns):]
	for i, at := range s.listed {
		if at == n {
			row[i] = p.scopeValue(v)
		}
	}
}

// value returns the value of a column in a row, counted from 0.
func (s *scoping) value(row int, column string) scopeValue {
	i := row*len(s.columns) + slices.Index(s.columns, column)
	if i >= len(s.values) {
		return scopeValue{}
	}
	return s.values[i]
}

// scopeValue reads a value in a scope column's place.
func (p *reader) scopeValue(v value) scopeValue {
	sv := scopeValue{at: v.start, before: v.before}
	t, ok := p.core(v)
	if !ok {
		return sv
	}
	sv.text = p.text(t)
	switch t.kind {
	case tokParam:
		if !p.isLocal(sv.text) {
			sv.kind = p.castOf(v)
		}
	case tokNumber:
		if _, ok := integerLiteral(sv.text); ok {
			sv.kind = scopeInteger
		}
	case tokString:
		if _, ok := textLiteral(sv.text); ok {
			sv.kind = scopeText
		}
	}
	return sv
}

// integerTypes are the types that take every integer in their range as it is,
// and fail on others.
var integerTypes = []string{"int", "integer", "bigint", "smallint", "int2", "int4", "int8"}

// castOf says what a placeholder is cast to, if that leaves its value what it is
// or fails: types with a length cut texts, and MySQL and SQLite bend what does not
// fit.
func (p *reader) castOf(v value) scopeKind {
	if v.tokens == 1 {
		return scopeArgument
	}
	s := scanner{d: p.d, q: p.q[:v.end], pos: v.start}
	kind, cast := scopeArgument, 0
	for t := s.following(); t.kind != tokEnd; t = s.following() {
		switch {
		case t.kind == tokParam:
		case t.kind == tokPunct && strings.Contains("():", p.text(t)):
		case t.kind != tokWord || !p.d.Lexis.ColonCasts:
			return scopeNone
		case equalAny(p.text(t), "cast", "as"):
		case equalAny(p.text(t), integerTypes...):
			kind, cast = scopeToInt, cast+1
		case equalWord(p.text(t), "text"):
			kind, cast = scopeToText, cast+1
		default:
			return scopeNone
		}
	}
	if cast > 1 {
		return scopeNone
	}
	return kind
}

// integerLiteral returns the value of an integer in decimal digits: an int64, or a
// uint64 where it does not fit into an int64.
func integerLiteral(text string) (any, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// textLiteral returns the value of a quoted text that every dialect reads alike:
// without a prefix and a backslash.
func textLiteral(text string) (string, bool) {
	if len(text) < 2 || text[0] != '\'' || strings.Contains(text, `\`) {
		return "", false
	}
	return strings.ReplaceAll(text[1:len(text)-1], "''", "'"), true
}

// scoped returns [ErrScope], and notes the value that is missing, where the
// slots from the m-th on take a key for sure and a row does not give the values
// of the columns that the key is numbered within.
func (p *parser) scoped(in *insertState, m int) Reason {
	if in.scopes == nil || in.Explained {
		return ""
	}
	for i := m; i < len(p.slots); i++ {
		s := &p.slots[i]
		if s.kind != slotKey {
			continue
		}
		key := &in.Target.Keys[s.key]
		for _, column := range key.Scope {
			v := in.scopes.value(int(s.row), column)
			if v.kind != scopeNone && !p.fillsToo(in, m, s.row, column) {
				continue
			}
			if p.refusal == nil {
				p.refusal = scopeRefusal(in.Target, key, max(v.at, in.Offset), column)
			}
			return ErrScope
		}
	}
	return ""
}

// fillsToo reports whether a column of a row is itself a key that is filled.
func (p *parser) fillsToo(in *insertState, m int, row int32, column string) bool {
	return slices.ContainsFunc(p.slots[m:], func(s slot) bool {
		return s.row == row && s.kind == slotKey && in.Target.Keys[s.key].Column == column
	})
}

// lacksScope reports whether one of the keys is numbered within other columns.
func (in *insertState) lacksScope(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].Scope != nil })
}

// fillsScoped reports whether one of the slots from the m-th on takes a key that is
// numbered within other columns.
func (p *parser) fillsScoped(in *insertState, m int) bool {
	return in.scopes != nil && slices.ContainsFunc(p.slots[m:], func(s slot) bool { return in.Target.Keys[s.key].Scope != nil })
}

// scopeRefusal is the refusal of a key for the value of a column.
func scopeRefusal(t *Target, k *Key, at int, column string) *Refusal {
	return &Refusal{
		Target: t, Table: t.Table, Column: k.Column, Offset: at, Reason: ErrScope,
		Detail: "column " + strconv.Quote(column),
	}
}

// asksScope reports whether a key that is, or may be, filled is numbered within a
// column whose value is an argument.
func (p *parser) asksScope() bool {
	for i := range p.slots {
		s := &p.slots[i]
		in := &p.inserts[s.insert]
		if in.scopes == nil || in.Explained {
			continue
		}
		for _, column := range in.Target.Keys[s.key].Scope {
			switch in.scopes.value(int(s.row), column).kind {
			case scopeArgument, scopeToInt, scopeToText:
				return true
			}
		}
	}
	return false
}
