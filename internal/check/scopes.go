package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// rowColumns returns the columns of the row on which the key depends, and the words of
// findings about them: the field of the policy, and what it does with them.
func (t *target) rowColumns(i int) (columns []policy.ScopeColumn, field, does string) {
	rule := &t.table.KeyColumns[i].Rule
	if rule.From != nil {
		return rule.From, "from", "from which the key is made"
	}
	return rule.Scope, "scope", "within which scope: numbers the rows"
}

// lookAtScope adds a finding for each column of a scope (the columns of the parent, within
// which rows are numbered), or from which keys are made, that cannot be used, and one if two
// parents cannot have equal numbers.
func (c *checker) lookAtScope(t *target, i int, col *catalog.Column) {
	scope, field, does := t.rowColumns(i)
	f := Finding{Severity: Error, Table: t.found.Name, Line: t.lines(i).Source}
	for at, rc := range scope {
		parent := t.found.Column(c.d, rc.Column)
		switch {
		case parent == nil:
			f.Rule, f.Column = ruleNoColumn, rc.Column
			f.Message = "the table has no column of this name, " + does
			f.Remedy = "in the policy, for table " + t.entry.Name + ": " + field + ": with columns that the table has"
			if near := nearest.Names(rc.Column, columnNames(t.found, col.Name)); len(near) > 0 {
				f.Message += `; did you mean "` + strings.Join(near, `" or "`) + `"?`
				f.Remedy = scopeAs(c.d, t, i, at, policy.ScopeColumn{Column: near[0], Type: rc.Type})
			}
			f.Remedy += c.orGrant(t, rc.Column)
		case parent.Generated, parent.IdentityAlways:
			f.Rule, f.Column = ruleGenerated, parent.Name
			f.Message = "the engine makes the values of the column, " + does + ", so that no INSERT can give one and each is refused"
			f.Remedy = "in the policy, for table " + t.entry.Name + ": " + field + ": with columns whose values INSERTs give, such as those that this one is computed from"
		default:
			trigger := t.found.TriggerOn(parent.Name)
			if trigger == nil || trigger.SetsOnlyNull(parent.Name) {
				continue
			}
			f.Rule, f.Column = ruleTriggerFills, parent.Name
			f.Message = fmt.Sprintf("the trigger %q sets the column, %s, so that the row is stored with another value than keyfill has read", trigger.Name, does)
			f.Remedy = c.dropTrigger(t.found, trigger)
		}
		c.add(f)
	}
	if field == "from" {
		c.lookAtFrom(t, i)
		return
	}
	if !col.Indexes.UniqueAlone {
		return
	}
	texts := t.table.KeyColumns[i].Texts()
	switch {
	case texts != nil && texts.AreApart() != nil:
		c.add(Finding{Severity: Warning, Rule: ruleScope, Class: SomeInserts, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Source,
			Message: "a unique index is on the key column alone, which refuses equal texts of two numberings: " + texts.AreApart().Error(),
			Remedy:  "in the policy: format: that shows it; or make the key column unique together with what the text does not show, and alone not"})
	case texts == nil && len(scope) > 0:
		c.add(Finding{Severity: Warning, Rule: ruleScope, Class: SomeInserts, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Source,
			Message: "a unique index is on the key column alone, so that the number of one parent is refused within another one",
			Remedy:  "make the columns of scope: and the key column unique together, and the key column alone not; or leave scope: out in the policy"})
	}
}

// lookAtCase adds a finding if the texts of two numberings may differ by case alone, in a
// column with a unique index that takes such texts for equal.
func (c *checker) lookAtCase(t *target, i int, col *catalog.Column) {
	k := &t.table.KeyColumns[i]
	texts := k.Texts()
	if texts == nil || !texts.ShowsText() || !t.found.IsInUnique(col.Name) {
		return
	}
	wanted := k.Wanted()
	wanted.Cased = true
	for _, err := range t.found.Problems(c.d, wanted) {
		if !errors.Is(err, catalog.ErrCollation) {
			continue
		}
		f := Finding{Severity: Warning, Rule: ruleCollation, Class: SomeInserts, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
			Message: "the column compares without regard to case: where the values in two texts differ by case alone, such as A and a, the unique index refuses the second text",
			Remedy:  c.alterCollation(t.found, col)}
		if f.Remedy == "" {
			f.Remedy = "in the application: values that differ by more than case"
		}
		c.add(f)
	}
}

// lookAtFrom adds a finding if keys cannot be made from the values of a column.
func (c *checker) lookAtFrom(t *target, i int) {
	if !hasScope(c.d, t, i) {
		return
	}
	if _, err := keys.ColumnsOfKey(c.d, t.table, i, t.found.Table); err != nil {
		c.add(Finding{Severity: Error, Rule: ruleType, Table: t.found.Name, Column: t.table.KeyColumns[i].Name, Line: t.lines(i).Source,
			Message: err.Error(), Remedy: cmp.Or(cureScope(c.d, t, i), "in the policy, for table "+t.entry.Name+": from: with columns of integers, or of texts that compare byte for byte")})
	}
}

// hasScope reports whether the columns of a scope, or from which keys are made, exist, and
// INSERTs give their values.
func hasScope(d *dialect.Dialect, t *target, i int) bool {
	columns, _, _ := t.rowColumns(i)
	return !slices.ContainsFunc(columns, func(rc policy.ScopeColumn) bool {
		parent := t.found.Column(d, rc.Column)
		return parent == nil || parent.Generated || parent.IdentityAlways
	})
}

// cureScope returns the remedy for a scope that gives its columns other types than they
// have. It is empty for any other fault.
func cureScope(d *dialect.Dialect, t *target, i int) string {
	scope, _, _ := t.rowColumns(i)
	for at, rc := range scope {
		parent := t.found.Column(d, rc.Column)
		switch {
		case parent == nil:
		case rc.Type == policy.ScopeInteger && parent.Text && !parent.Integer:
			return scopeAs(d, t, i, at, policy.ScopeColumn{Column: rc.Column, Type: policy.ScopeText})
		case rc.Type == policy.ScopeText && parent.Integer && !parent.Text:
			return scopeAs(d, t, i, at, policy.ScopeColumn{Column: rc.Column, Type: policy.ScopeInteger})
		}
	}
	return ""
}

// scopeAs returns the remedy that replaces a column of a scope by another one.
func scopeAs(d *dialect.Dialect, t *target, key, at int, other policy.ScopeColumn) string {
	scope, field, _ := t.rowColumns(key)
	var written []string
	for i, rc := range scope {
		if i == at {
			rc = other
		}
		if found := t.found.Column(d, d.Fold(rc.Column, true)); found != nil {
			rc.Column = catalog.PolicyColumn(d, found.Name)
		}
		name := catalog.YAMLString(rc.Column)
		if rc.Type == policy.ScopeText {
			name = "{column: " + name + ", type: text}"
		}
		written = append(written, name)
	}
	return fmt.Sprintf("in the policy, for table %s: %s: [%s]", t.entry.Name, field, strings.Join(written, ", "))
}

// columnNames returns the names of all columns of a table except one.
func columnNames(t *catalog.Listed, but string) (names []string) {
	for i := range t.Columns {
		if t.Columns[i].Name != but {
			names = append(names, t.Columns[i].Name)
		}
	}
	return names
}
