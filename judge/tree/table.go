package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Table is VALUES used as a table, with the names that its alias gives all columns.
type Table struct {
	Alias   string // the name of the table, in lower case
	Columns []*Node
	Names   []string // the names of the columns, in lower case
	Rows    [][]*Node
}

func sameTable(a, b *Table) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Alias == b.Alias && sameNodes(a.Columns, b.Columns) && slices.EqualFunc(a.Rows, b.Rows, sameNodes)
}

func (t *Table) walk(visit func(*Node)) {
	if t == nil {
		return
	}
	for _, nodes := range append([][]*Node{t.Columns}, t.Rows...) {
		for _, n := range nodes {
			n.Walk(visit)
		}
	}
}

// carrier is a column of a table in VALUES that carries keys.
type carrier struct {
	alias, column string
	used          bool
}

// table compares two tables, of which b may have one more column, which holds keys.
func (c *comparison) table(a, b *Table, wrap Wrap) error {
	if sameTable(a, b) {
		return nil
	}
	if a == nil || b == nil || a.Alias != b.Alias || len(b.Columns) != len(a.Columns)+1 || len(a.Rows) != len(b.Rows) {
		return fmt.Errorf("VALUES in the place of a table changed")
	}
	at := 0
	for at < len(a.Columns) && Same(a.Columns[at], b.Columns[at]) {
		at++
	}
	if !sameNodes(a.Columns, without(b.Columns, at)) || slices.Contains(a.Names, b.Names[at]) {
		return fmt.Errorf("the alias of VALUES does not have one name more")
	}
	for i, row := range b.Rows {
		if len(row) != len(b.Columns) || len(a.Rows[i]) != len(a.Columns) {
			return fmt.Errorf("VALUES in the place of a table, row %d: %d values for %d columns", i+1, len(row), len(b.Columns))
		}
		if err := c.key(row[at]); err != nil {
			return fmt.Errorf("VALUES in the place of a table, row %d: %w", i+1, err)
		}
		for j, v := range without(row, at) {
			if err := c.node(a.Rows[i][j], v, wrap, false); err != nil {
				return err
			}
		}
	}
	c.carriers = append(c.carriers, carrier{alias: b.Alias, column: b.Names[at]})
	return nil
}

// carried reports whether a value is a column of a table that carries keys. It returns an
// error if the value is an expression of such a column.
func (c *comparison) carried(value *Node) (bool, error) {
	var names []string
	plain := true
	value.Walk(func(n *Node) {
		if name := strings.ToLower(strings.Trim(n.Label, "\"[]`")); len(n.Kids) == 0 && name != "." && name != "" {
			names = append(names, name)
		}
		plain = plain && n.Leaf == Plain && n.Insert == nil
	})
	for i := range c.carriers {
		k := &c.carriers[i]
		at := slices.Index(names, k.column)
		switch {
		case at < 0:
		case !plain || !slices.Contains(names[:at], k.alias) || value.Label == "value" && len(names) > 2:
			// A value in the checker's tree has at most two names, the table's and the
			// column's. More names belong to an expression.
			return false, fmt.Errorf("an expression of a key stands in the key's place")
		default:
			k.used = true
			return true, nil
		}
	}
	return false, nil
}

// unused returns an error if a table carries keys that no row uses.
func (c *comparison) unused() error {
	for _, k := range c.carriers {
		if !k.used {
			return fmt.Errorf("column %s.%s carries keys that no INSERT takes", k.alias, k.column)
		}
	}
	c.carriers = nil
	return nil
}
