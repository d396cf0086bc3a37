package plans

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/rewrite"
)

// A key may be numbered within the values of other columns of its row (its scope): the
// lines of each order from 1 on. keyfill needs these values before it sends the statement,
// and reads them in the statement: an argument or a literal. An INSERT is refused if only
// the engine knows such a value: an expression, a default, a row of a query.

// Scoping says where an INSERT has the values of the columns that keys are numbered within.
type Scoping struct {
	Columns []string     // the names of the columns, folded, each once
	Listed  []int        // for each of Columns, its index in the column list, or notListed or listedBadly
	Values  []ScopeValue // for each row, one value for each of Columns
}

// notListed is the index of a column that the column list does not have.
const notListed = -1

// listedBadly is the index of a column that is listed twice, or with a field or a
// subscript.
const listedBadly = -2 // the column is listed twice, or with a field or a subscript

// ScopeKind is the form in which a row has the value of a scope column, within whose values
// keys are numbered.
type ScopeKind uint8

// These are the forms of a scope column's value.
const (
	ScopeNone     ScopeKind = iota // a value that the text does not show
	ScopeArgument                  // a placeholder
	ScopeToInt                     // a placeholder that is cast to an integer
	ScopeToText                    // a placeholder that is cast to text
	ScopeInteger                   // an integer literal
	ScopeText                      // a quoted text
	ScopeToDate                    // a placeholder that is cast to a date; for [Key].Date alone
	ScopeDate                      // a quoted text that is cast to a date; for [Key].Date alone
)

// ScopeValue is the value of a scope column, within whose values keys are numbered, in a
// row.
type ScopeValue struct {
	Kind   ScopeKind
	At     int    // the offset of the value, or of the row if the row has no such value
	Before int    // how many of the caller's placeholders precede the value
	Text   string // the value as written
}

// Serves reports whether keyfill knows the value of a column of the key's Scope: a cast to a
// date may change any value but a date.
func (v ScopeValue) Serves(k *Key, column string) bool {
	switch v.Kind {
	case ScopeNone:
		return false
	case ScopeToDate, ScopeDate:
		return column == k.Date
	}
	return true
}

// ScopesOf returns the columns that the keys of a table are numbered within; nil if there
// are none.
func ScopesOf(t *Target) *Scoping {
	var s *Scoping
	for i := range t.Keys {
		for _, c := range t.Keys[i].Scope {
			if s == nil {
				s = &Scoping{}
			}
			if !slices.Contains(s.Columns, c) {
				s.Columns, s.Listed = append(s.Columns, c), append(s.Listed, notListed)
			}
		}
	}
	return s
}

// List notes that the n-th column of the column list, counted from 0, is the given one.
// plain is false if it has a field or a subscript.
func (s *Scoping) List(column string, n int, plain bool) {
	i := slices.Index(s.Columns, column)
	switch {
	case i < 0:
	case s.Listed[i] != notListed || !plain:
		s.Listed[i] = listedBadly
	default:
		s.Listed[i] = n
	}
}

// Begin starts a row, whose text begins at an offset.
func (s *Scoping) Begin(at int) {
	for range s.Columns {
		s.Values = append(s.Values, ScopeValue{At: at})
	}
}

// Value returns the value of a column in a row. Rows are counted from 0.
func (s *Scoping) Value(row int, column string) ScopeValue {
	i := row*len(s.Columns) + slices.Index(s.Columns, column)
	if i >= len(s.Values) {
		return ScopeValue{}
	}
	return s.Values[i]
}

// IntegerLiteral returns the value of an integer in decimal digits: an int64, or a uint64
// if it does not fit into an int64.
func IntegerLiteral(text string) (any, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// TextLiteral returns the value of a quoted text, if every dialect reads it alike: it has
// no prefix and no backslash.
func TextLiteral(text string) (string, bool) {
	if len(text) < 2 || text[0] != '\'' || strings.Contains(text, `\`) {
		return "", false
	}
	return strings.ReplaceAll(text[1:len(text)-1], "''", "'"), true
}

// ScopeRefusal returns the refusal of a key that is numbered within a column whose value in
// the row is not known.
func ScopeRefusal(t *Target, k *Key, at int, column string) *Refusal {
	return &Refusal{
		Target: t, Table: t.Table, Column: k.Column, Offset: at, Reason: rewrite.ErrScope,
		Detail: "column " + strconv.Quote(column),
	}
}

// asksScope reports whether a key that is, or may be, filled is numbered within a column
// whose value is an argument.
func (p *Draft) asksScope() bool {
	for i := range p.Slots {
		s := &p.Slots[i]
		in := &p.Inserts[s.Insert]
		if in.Scopes == nil || in.Explained {
			continue
		}
		for _, column := range in.Target.Keys[s.Key].Scope {
			switch in.Scopes.Value(int(s.Row), column).Kind {
			case ScopeArgument, ScopeToInt, ScopeToText, ScopeToDate:
				return true
			}
		}
	}
	return false
}

// hasScopes reports whether a key is numbered within other columns.
func (pl *Plan) hasScopes() bool {
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		in := &pl.Inserts[s.Insert]
		if in.Scopes != nil && !in.Explained && in.Target.Keys[s.Key].Scope != nil {
			return true
		}
	}
	return false
}
