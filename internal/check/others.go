package check

import (
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/draft"
)

// lookAtOthers finds the tables without a rule whose key is not filled: neither by the
// engine nor, as far as the policy says, by keyfill.
func (c *checker) lookAtOthers() error {
	for _, t := range c.over.Tables {
		schema, name := c.d.Fold(t.Schema, true), c.d.FoldTable(t.Name, true)
		if _, ok := c.e.Policy.EntryOf(schema, name); ok || t.View || t.Partition || !t.Visible || isOwn(name) || len(t.Primary) != 1 || slices.Contains(c.meant, t.Name) {
			continue
		}
		c.lookAtOther(t)
	}
	return nil
}

// lookAtOther adds a finding if the key of a table without a rule is one that keyfill could
// make, and that the engine does not make.
func (c *checker) lookAtOther(t *catalog.Listed) {
	var col *catalog.Column
	for i := range t.Columns {
		if t.Columns[i].Name == t.Primary[0] {
			col = &t.Columns[i]
		}
	}
	if col == nil || col.RowID || col.Identity != "" || col.Generated || t.MakesDefault(col.Name) || len(c.over.Parents(t, col.Name)) > 0 || t.TriggerOn(col.Name) != nil {
		return
	}
	fit, ok := draft.FitOf(c.d, col)
	if !ok || !col.UUID && !draft.IsKeyName(t.Name, col.Name) {
		return
	}
	c.add(Finding{Severity: Warning, Rule: ruleNoRule, Table: t.Name, Column: col.Name,
		Message: fmt.Sprintf("the table has no rule, and nothing fills its key %s (%s): an INSERT has to bring it", col.Name, col.Type),
		Remedy:  fmt.Sprintf("in the policy, under tables: %s: {column: %s%s}", catalog.YAMLString(catalog.PolicyTable(c.d, "", t.Name)), catalog.YAMLString(catalog.PolicyColumn(c.d, col.Name)), fit.Rest)})
}
