package statements_test

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// row is what one row of a statement stores.
type row struct {
	name string
	n    int64
	own  any // the key that it brings or has already; nil where it is filled
}

// statement is an INSERT and the rows that it leaves in the table.
type statement struct {
	query string
	args  []any
	rows  []row
}

// shape is one way to write an INSERT into the table of a cell:
//
//	code VARCHAR(40) UNIQUE, name VARCHAR(40), n BIGINT, id
type shape struct {
	name string
	// only is the one dialect that reads it so; "" means all.
	only string
	// make returns the INSERT for its use-th execution. The text is the same
	// for each use.
	make func(c *cell, use int) statement
	// updates says that the rows are there before, so that the keys that are
	// drawn are not stored.
	updates bool
	// upserts reports that an Exec does not show whether its keys are stored: the table
	// is asked.
	upserts bool
}

var shapes = []shape{
	{name: "arguments", make: plain},
	{name: "literals", make: literals},
	{name: "no-column-list", make: bare},
	{name: "first-columns", only: "postgres", make: short},
	{name: "mixed", make: mixed},
	{name: "upsert-inserts", make: upsert, upserts: true},
	{name: "upsert-updates", make: upsert, upserts: true, updates: true},
}

// rowOf returns what the i-th row of the use-th execution stores.
func (c *cell) rowOf(use, i int) row {
	return row{name: fmt.Sprintf("use %d row %d", use, i), n: int64(1000*use + i)}
}

// each calls f for each row of an execution and returns the rows, with a comma
// between them.
func (c *cell) each(use int, f func(i int, r *row) string) (text string, rows []row) {
	var values []string
	for i := range c.rows {
		r := c.rowOf(use, i)
		values = append(values, f(i, &r))
		rows = append(rows, r)
	}
	return strings.Join(values, ", "), rows
}

// plain has a column list without the key, and arguments.
func plain(c *cell, use int) statement {
	b := c.Builder()
	values, rows := c.each(use, func(_ int, r *row) string {
		return "(" + b.Bind(r.name) + ", " + b.Bind(r.n) + ")"
	})
	return statement{"INSERT INTO " + c.table + " (name, n) VALUES " + values, b.Args, rows}
}

// literals has no argument at all.
func literals(c *cell, _ int) statement {
	values, rows := c.each(0, func(_ int, r *row) string {
		return fmt.Sprintf("('%s', %d)", r.name, r.n)
	})
	return statement{"INSERT INTO " + c.table + " (name, n) VALUES " + values, nil, rows}
}

// bare has no column list and NULL in the key's place.
func bare(c *cell, use int) statement {
	b := c.Builder()
	values, rows := c.each(use, func(_ int, r *row) string {
		return "(NULL, " + b.Bind(r.name) + ", " + b.Bind(r.n) + ", NULL)"
	})
	return statement{"INSERT INTO " + c.table + " VALUES " + values, b.Args, rows}
}

// short has no column list and a value less than there are columns.
func short(c *cell, use int) statement {
	b := c.Builder()
	values, rows := c.each(use, func(_ int, r *row) string {
		return "(NULL, " + b.Bind(r.name) + ", " + b.Bind(r.n) + ")"
	})
	return statement{"INSERT INTO " + c.table + " VALUES " + values, b.Args, rows}
}

// mixed has the key in its column list: some rows bring theirs, in the others
// stands what is no key.
func mixed(c *cell, use int) statement {
	b := c.Builder()
	values, rows := c.each(use, func(i int, r *row) string {
		name := b.Bind(r.name)
		var key string
		switch (i + 1) % 6 {
		case 0:
			own, shown := c.key.own(1000*use + i)
			key, r.own = b.Bind(own), shown
		case 1:
			key = b.Bind(nil)
		case 2:
			key = "NULL"
		case 3:
			key = "DEFAULT"
			if c.Dialect.Name == "sqlite" { // which has no such word
				key = "NULL"
			}
		case 4:
			key, _ = c.unset()
		case 5:
			_, arg := c.unset()
			key = b.Bind(arg)
		}
		return "(" + name + ", " + key + ", " + b.Bind(r.n) + ")"
	})
	return statement{"INSERT INTO " + c.table + " (name, id, n) VALUES " + values, b.Args, rows}
}

// unset returns what an application sends for a key that is not set, besides
// NULL: as a literal and as an argument. Zero is a key but in MySQL and MariaDB.
func (c *cell) unset() (literal string, arg any) {
	switch {
	case c.key.integer == nil:
		return "''", ""
	case c.Dialect.ZeroIsNoKey:
		return "0", 0
	}
	return "NULL", nil
}

// upsert adds to n if a row of its code is there already; an argument follows the rows.
func upsert(c *cell, use int) statement {
	b := c.Builder()
	values, rows := c.each(use, func(i int, r *row) string {
		if c.shape.updates {
			_, r.own = c.key.own(1000*use + i)
		}
		return "(" + b.Bind(code(use, i)) + ", " + b.Bind(r.name) + ", " + b.Bind(r.n) + ")"
	})
	clause := " ON CONFLICT (code) DO UPDATE SET n = excluded.n + "
	if c.Dialect.Name == "mariadb" {
		clause = " ON DUPLICATE KEY UPDATE n = VALUES(n) + "
	}
	const more = 500_000
	if c.shape.updates {
		for i := range rows {
			rows[i].n += more
		}
	}
	return statement{"INSERT INTO " + c.table + " (code, name, n) VALUES " + values + clause + b.Bind(int64(more)), b.Args, rows}
}

// code is the unique code of the i-th row of an upsert.
func code(use, i int) string { return fmt.Sprintf("code %d-%d", use, i) }

// seed stores the rows that an upsert is to find, through the raw driver.
func (c *cell) seed(uses int) {
	c.t.Helper()
	b := c.Builder()
	var values []string
	for use := range uses {
		for i := range c.rows {
			r := c.rowOf(use, i)
			own, _ := c.key.own(1000*use + i)
			values = append(values, "("+b.Bind(code(use, i))+", "+b.Bind(r.name)+", "+b.Bind(int64(-1))+", "+b.Bind(own)+")")
		}
	}
	harness.Exec(c.t, c.Raw, "INSERT INTO "+c.table+" (code, name, n, id) VALUES "+strings.Join(values, ", "), b.Args...)
}
