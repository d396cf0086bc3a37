package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// lookAtOthers finds the tables without a rule whose key nobody fills: neither the
// engine nor, as far as the policy says, keyfill.
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

// lookAtOther adds a finding where the key of a table without a rule is one that
// keyfill makes, and the engine does not.
func (c *checker) lookAtOther(t *catalog.Listed) {
	var col *catalog.Column
	for i := range t.Columns {
		if t.Columns[i].Name == t.Primary[0] {
			col = &t.Columns[i]
		}
	}
	if col == nil || col.RowID || col.Identity != "" || col.Generated || hasDefault(t, col.Name) || c.refers(t, col.Name) || c.triggerOn(t, col.Name) != nil {
		return
	}
	rest := c.suits(col)
	if rest == "" || !col.UUID && !isKeyName(t.Name, col.Name) {
		return
	}
	c.add(Finding{Severity: Warning, Rule: ruleNoRule, Table: t.Name, Column: col.Name,
		Message: fmt.Sprintf("the table has no rule, and nothing fills its key %s (%s): an INSERT has to bring it", col.Name, col.Type),
		Remedy:  fmt.Sprintf("in the policy, under tables: %s: {column: %s%s}", catalog.YAMLString(catalog.PolicyTable(c.d, "", t.Name)), catalog.YAMLString(catalog.PolicyColumn(c.d, col.Name)), rest)})
}

// suits returns what follows the column in a rule for a key of its type, "" where no
// source suits it.
func (c *checker) suits(col *catalog.Column) string {
	const sequence = ", source: {kind: sequence, ensure_schema: true}"
	switch {
	case col.UUID:
		return ", source: uuidv7"
	case col.Integer && !col.Text && col.Bits >= 63:
		return sequence
	case col.Integer && !col.Text && col.Bits >= 53:
		return ", max_bits: 53" + sequence
	case col.Integer && !col.Text && col.Bits >= 31:
		return ", max_bits: 31" + sequence
	case col.Binary && (col.Length == 16 || col.Length == 0) && !col.Text:
		return ", source: uuidv7, layout: binary"
	case col.Text && col.Length == 26:
		return ", source: ulid"
	case col.Text && (col.Length == 0 || col.Length >= 36) && c.d.DefaultLayout == dialect.SequentialAsString:
		return ", source: uuidv7"
	}
	return ""
}

// isKeyName reports whether a column is called as a key without a meaning of its own.
func isKeyName(table, column string) bool {
	name := strings.ToLower(column)
	switch name {
	case "id", "uuid", "guid", "uid", "ulid", "key_id", "pk":
		return true
	}
	one := strings.TrimSuffix(strings.ToLower(table), "s")
	return name == one+"_id" || name == one+"id" || name == strings.ToLower(table)+"_id"
}

// hasDefault reports whether a column has a default that makes something.
func hasDefault(t *catalog.Listed, column string) bool {
	def := strings.ToLower(t.Default[column])
	return strings.Contains(def, "(") || strings.Contains(def, "nextval")
}

// refers reports whether a column is a foreign key.
func (c *checker) refers(t *catalog.Listed, column string) bool {
	for _, f := range c.over.ForeignKeys {
		if f.Table == t && f.Column == column {
			return true
		}
	}
	return false
}
