package table

import (
	"cmp"
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Texts are the texts of numbers that a key column holds, as INV-2026-00042.
type Texts struct {
	*numberformat.Form
	column *Column
}

// Texts returns the column's texts; nil for keys of another kind.
func (k *Column) Texts() *Texts {
	if m, ok := k.Shape.(*numberformat.Mapping); ok {
		return &Texts{m.Form, k}
	}
	return nil
}

// Parts returns what the texts of an execution show besides the number, the period and the
// columns. facts are the facts about the table t, and may be nil; i is the index of the key.
func (x *Texts) Parts(ctx context.Context, t *Table, i int, facts *Facts) (p numberformat.Parts, err error) {
	if x.IsConstant() {
		return p, nil
	}
	p = numberformat.Parts{Schema: t.Rule.Schema, Table: t.Rule.Name}
	if facts != nil && facts.Columns[i].Table != "" {
		p.Schema, p.Table = facts.Columns[i].Schema, facts.Columns[i].Table
	}
	names := x.Values()
	if len(names) == 0 {
		return p, nil
	}
	value := ValuesOf(ctx)
	// The name of the state has all values that the texts show: a missing one is its error.
	if _, err := x.column.Rule.StateFor(value); err != nil {
		return p, err
	}
	p.Values = make(map[string]string, len(names))
	for _, name := range names {
		p.Values[name], _ = value(name)
	}
	return p, nil
}

// In returns columns with the texts of the numbers in them.
func (x *Texts) In(columns []store.Column, p numberformat.Parts) []store.Column {
	all := make([]store.Column, len(columns))
	for i, c := range columns {
		p.Schema, p.Table = c.Schema, c.Table
		all[i] = c.WithTexts(store.Texts(x.TextsOf(&p)))
	}
	return all
}

// IsRanked reports whether the greatest number of a state can be read from the texts in the
// column: they sort as their numbers do, and show which values the state belongs to. alone
// reports that the texts of all values differ.
func (x *Texts) IsRanked(alone bool) bool {
	return x.IsOrdered() && (alone || x.Apart(numberformat.Numbering{Values: x.column.Rule.Values}) == nil)
}

// AreApart returns an error if the texts do not show all that distinguishes the numberings of
// the column, so that two numbers may have one text.
func (x *Texts) AreApart() error {
	n := numberformat.Numbering{Values: x.column.Rule.Values}
	if scope := x.column.Rule.Source.Scope; scope != nil {
		for _, c := range *scope {
			n.Columns = append(n.Columns, c.Column)
		}
	}
	return x.Apart(n)
}

// ShowsText reports whether the texts show a value, or a column of text, that distinguishes
// numberings: two of them may differ by the case of a letter alone.
func (x *Texts) ShowsText() bool {
	return len(x.Values()) > 0 || slices.ContainsFunc(x.column.Rule.Scope, func(c policy.ScopeColumn) bool { return c.Type == policy.ScopeText }) && len(x.Columns()) > 0
}

// isFollowed reports whether a state can be raised above an explicit text: the number of the
// text can be read, and belongs to no other numbering.
func (x *Texts) isFollowed() bool { return x.IsOrdered() && x.IsConstant() }

// follows reports whether the source of a column may be raised above the explicit keys of
// INSERTs.
func follows(k *Column, d *dialect.Dialect) bool {
	if x := k.Texts(); x != nil && !x.isFollowed() {
		return false
	}
	return k.Rule.Source.FollowExplicit || MayFollow(k.Rule.Source, d)
}

// numberIn returns the function that reads the number of an explicit text; nil if the keys are
// numbers, or if their source does not follow them.
func numberIn(k *Column) func(string) (int64, bool) {
	if x := k.Texts(); x != nil && x.isFollowed() {
		return x.NumberIn
	}
	return nil
}

// EndRemedy returns advice for the time when all numbers of a mapping are used.
func EndRemedy(m keysource.Mapping) string {
	if _, ok := m.(*numberformat.Mapping); ok {
		return store.TextRemedy
	}
	return keysource.EndRemedy(m)
}

// NumbersOf says how the numbers of the table's first key with a format are written, and when
// they begin again; it is empty if there is no such key.
func (t *Table) NumbersOf() string {
	for i := range t.KeyColumns {
		x := t.KeyColumns[i].Texts()
		if x == nil {
			continue
		}
		text := x.String()
		p := x.column.Rule.Source.Period
		switch {
		case p.Every == "":
			return text
		case p.Column != "":
			text += ", from 1 again each " + p.Every + " of " + p.Column
		default:
			text += ", from 1 again each " + p.Every + " of the server's clock in " + cmp.Or(p.Zone, "UTC")
		}
		if p.Starts != "" {
			text += ", where years begin on " + p.Starts
		}
		return text
	}
	return ""
}
