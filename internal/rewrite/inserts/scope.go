package inserts

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// take notes the n-th value of the current row, if keys are numbered within its column.
func take(s *plans.Scoping, p *reader.Reader, n int, v reader.Value) {
	row := s.Values[len(s.Values)-len(s.Columns):]
	for i, at := range s.Listed {
		if at == n {
			row[i] = scopeValue(p, v)
		}
	}
}

// scopeValue reads the value of a column within which keys are numbered.
func scopeValue(p *reader.Reader, v reader.Value) plans.ScopeValue {
	sv := plans.ScopeValue{At: v.Start, Before: v.Before}
	if t, ok := dateIn(p, v); ok {
		sv.Kind, sv.Text = plans.ScopeToDate, p.TextOf(t)
		if t.Kind == scan.String {
			sv.Kind = plans.ScopeDate
		}
		return sv
	}
	t, ok := p.Core(v)
	if !ok {
		return sv
	}
	sv.Text = p.TextOf(t)
	switch t.Kind {
	case scan.Placeholder:
		if !p.IsLocal(sv.Text) {
			sv.Kind = castOf(p, v)
		}
	case scan.Number:
		if _, ok := plans.IntegerLiteral(sv.Text); ok {
			sv.Kind = plans.ScopeInteger
		}
	case scan.String:
		if _, ok := plans.TextLiteral(sv.Text); ok {
			sv.Kind = plans.ScopeText
		}
	}
	return sv
}

// dateForms are the forms in which a value is cast to a date. x is a placeholder, or a quoted
// text.
var dateForms = [][]string{{"date", "x"}, {"cast", "(", "x", "as", "date", ")"}, {"x", ":", ":", "date"}}

// dateIn returns the placeholder or the quoted text that a value casts to a date. It reports
// false if the value is anything else.
func dateIn(p *reader.Reader, v reader.Value) (x scan.Token, isDate bool) {
	if !p.Dialect.Lexis.DateCasts || v.Tokens < 2 {
		return x, false
	}
	var tokens []scan.Token
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:v.End], Pos: v.Start}
	for t := s.Following(); t.Kind != scan.End; t = s.Following() {
		tokens = append(tokens, t)
	}
	for _, form := range dateForms {
		matches := len(form) == len(tokens) && (form[len(form)-1] != "x" || tokens[len(tokens)-1].Kind == scan.String)
		for i := 0; matches && i < len(form); i++ {
			switch t := tokens[i]; {
			case form[i] != "x":
				matches = scan.EqualWord(p.TextOf(t), form[i])
			case t.Kind == scan.Placeholder:
				x, matches = t, !p.IsLocal(p.TextOf(t))
			default:
				_, plain := plans.TextLiteral(p.TextOf(t))
				x, matches = t, t.Kind == scan.String && plain
			}
		}
		if matches {
			return x, true
		}
	}
	return x, false
}

// integerTypes are types such that a cast leaves every integer in their range unchanged,
// and fails for any other value.
var integerTypes = []string{"int", "integer", "bigint", "smallint", "int2", "int4", "int8"}

// castOf returns what a placeholder is cast to, if the cast leaves its value unchanged or
// fails. Casts to types with a length cut texts, and MySQL and SQLite change values that do
// not fit.
func castOf(p *reader.Reader, v reader.Value) plans.ScopeKind {
	if v.Tokens == 1 {
		return plans.ScopeArgument
	}
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:v.End], Pos: v.Start}
	kind, cast := plans.ScopeArgument, 0
	for t := s.Following(); t.Kind != scan.End; t = s.Following() {
		switch {
		case t.Kind == scan.Placeholder:
		case t.Kind == scan.Punct && strings.Contains("():", p.TextOf(t)):
		case t.Kind != scan.Word || !p.Dialect.Lexis.ColonCasts:
			return plans.ScopeNone
		case scan.EqualAny(p.TextOf(t), "cast", "as"):
		case scan.EqualAny(p.TextOf(t), integerTypes...):
			kind, cast = plans.ScopeToInt, cast+1
		case scan.EqualWord(p.TextOf(t), "text"):
			kind, cast = plans.ScopeToText, cast+1
		default:
			return plans.ScopeNone
		}
	}
	if cast > 1 {
		return plans.ScopeNone
	}
	return kind
}

// scoped returns [rewrite.ErrScope] if a slot (a place for a key) from the m-th on surely
// takes a key, and its row lacks the value of a column within which the key is numbered. It
// notes a refusal that names the column.
func scoped(p *plans.Draft, in *State, m int) rewrite.Reason {
	if in.Scopes == nil || in.Explained {
		return ""
	}
	for i := m; i < len(p.Slots); i++ {
		s := &p.Slots[i]
		if s.Kind != plans.SlotKey {
			continue
		}
		key := &in.Target.Keys[s.Key]
		for _, column := range key.Scope {
			v := in.Scopes.Value(int(s.Row), column)
			if v.Serves(key, column) && !fillsToo(p, in, m, s.Row, column) {
				continue
			}
			if p.Refusal == nil {
				p.Refusal = plans.ScopeRefusal(in.Target, key, max(v.At, in.Offset), column)
			}
			return rewrite.ErrScope
		}
	}
	return ""
}

// fillsToo reports whether a column of a row is itself a key that is filled.
func fillsToo(p *plans.Draft, in *State, m int, row int32, column string) bool {
	return slices.ContainsFunc(p.Slots[m:], func(s plans.Slot) bool {
		return s.Row == row && s.Kind == plans.SlotKey && in.Target.Keys[s.Key].Column == column
	})
}

// LacksScope reports whether one of the keys is numbered within other columns.
func (in *State) LacksScope(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].Scope != nil })
}

// FillsScoped reports whether one of the slots (places for keys) from the m-th on takes a
// key that is numbered within other columns.
func FillsScoped(p *plans.Draft, in *State, m int) bool {
	return in.Scopes != nil && slices.ContainsFunc(p.Slots[m:], func(s plans.Slot) bool { return in.Target.Keys[s.Key].Scope != nil })
}
