package plan

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// swap is the plan by which integer keys, and the columns that refer to them, become UUIDs.
//
// Beside each column there is a column of UUIDs while programs go on. If a column refers to
// a key, directly or by way of other columns, the key is its root, and the column gets the
// UUID of the root's row with the same integer. At the swap each UUID column takes the name
// of its integer column, with its indexes, constraints and foreign keys. The integers stay
// in a column of another name until the operator drops it.
type swap struct {
	dialect *dialect.Dialect
	rules   *swapRules
	db      *sql.DB
	over    *catalog.Overview
	refs    []*reference // all foreign keys of the database
	chosen  []*figures
	tables  []*swapTable // those with columns that become UUIDs
}

// swapRules holds how an engine swaps columns.
type swapRules struct {
	limit int  // the greatest length of a name; 0 if there is no limit
	runes bool // whether limit counts characters, not bytes

	caselessTables, caselessColumns bool // whether names that differ by case only are one name

	begin string // what the transaction that reads the foreign keys sets first; may be empty
	refs  string // the query for the foreign keys of the database: a row for each pair of columns
	names string // the query for the names that a new index of a table may not have

	// again returns statements that add a column, and an index where index is not empty,
	// so that the user can run them twice.
	again func(p place, column, index string, statements []string) []string

	// atomic wraps the statements of a file that are executed as a whole; nil if each of
	// them can be executed again.
	atomic func(statements []string) []string

	differs string // the condition that {a} and {b} are not the same value, and not both NULL

	// read reads what the statements of a table repeat, such as the text that creates it,
	// and returns what the engine cannot swap.
	read func(ctx context.Context, s *swap, t *swapTable) ([]problem, error)

	fill    func(t *swapTable, between string) string // the UPDATE that fills the columns that refer to keys
	swap    func(s *swap) []string
	stopped string // what the user has to do if the swap was stopped
	drop    func(c *swapColumn) []string
}

// place is a table by its names.
type place struct {
	dialect      *dialect.Dialect
	schema, name string
}

func (p place) sql() string {
	return p.dialect.QuoteIdent(p.schema) + "." + p.dialect.QuoteIdent(p.name)
}

func (f *figures) place() place { return place{f.dialect, f.found.Schema, f.found.Name} }

// reference is a foreign key.
type reference struct {
	name            string
	table, parent   place
	columns, refers []string // the columns of the table, and the columns of the parent to which they refer
	definition      string   // the text after its name, on PostgreSQL
}

// swapTable is a table with columns that become UUIDs.
type swapTable struct {
	*catalog.Listed
	place
	columns []*swapColumn
	text    string   // what creates the table; on PostgreSQL it is not read
	parts   []string // what creates its indexes and triggers on SQLite, its keys on MySQL and MariaDB; the sequences of its columns on PostgreSQL

	// definitions are the definitions of its columns on MySQL and MariaDB, by their names.
	definitions map[string]*catalog.ColumnDefinition

	// kept are the names of its indexes and triggers on SQLite.
	kept []string
}

// swapColumn is a column that becomes one of UUIDs.
type swapColumn struct {
	table      *swapTable
	column     *catalog.Column
	root       *swapColumn // the key whose UUIDs it holds: itself if it is a key
	of         *figures    // the root's table
	added, old string      // the names of the UUID column before the swap, and of the integer column after it
}

func (c *swapColumn) String() string {
	return catalog.PolicyTable(c.table.dialect, c.table.written(), c.table.name) + "." + catalog.PolicyColumn(c.table.dialect, c.column.Name)
}

// written returns the schema of the table, empty if its name alone finds it.
func (t *swapTable) written() string {
	if t.Visible {
		return ""
	}
	return t.schema
}

// sqlNames returns the names of the column as SQL writes them, for a Replacer.
func (c *swapColumn) sqlNames() []string {
	quote := c.table.dialect.QuoteIdent
	return []string{"{table}", c.table.sql(), "{column}", quote(c.column.Name), "{new}", quote(c.added), "{old}", quote(c.old), "{root}", c.root.table.sql(),
		"{root column}", quote(c.root.column.Name), "{root new}", quote(c.root.added)}
}

func (c *swapColumn) sql(text string) string {
	return strings.NewReplacer(c.sqlNames()...).Replace(text)
}

// problem says why a key cannot be swapped.
type problem struct {
	of   *figures
	text string
}

// columns returns the columns that become UUIDs.
func (s *swap) columns() (all []*swapColumn) {
	for _, t := range s.tables {
		all = append(all, t.columns...)
	}
	return all
}

// roots returns the tables whose keys are UUIDs of their own.
func (s *swap) roots() (all []*figures) {
	for _, c := range s.columns() {
		if c.root == c {
			all = append(all, c.of)
		}
	}
	return all
}

// table returns a table by its names as they are found; nil if it is not listed.
func (s *swap) table(p place) *catalog.Listed {
	for _, t := range s.over.Tables {
		if s.same(place{s.dialect, t.Schema, t.Name}, p) {
			return t
		}
	}
	return nil
}

// same reports whether two names mean one table. SQLite stores the name of a parent
// as the foreign key writes it.
func (s *swap) same(a, b place) bool {
	return a.schema == b.schema && (a.name == b.name || s.rules.caselessTables && strings.EqualFold(a.name, b.name))
}

// sameColumn reports whether two names mean one column.
func (s *swap) sameColumn(a, b string) bool {
	return a == b || s.rules.caselessColumns && strings.EqualFold(a, b)
}

// find returns the column that becomes a UUID; nil if it does not.
func (s *swap) find(p place, column string) *swapColumn {
	for _, c := range s.columns() {
		if s.same(c.table.place, p) && s.sameColumn(c.column.Name, column) {
			return c
		}
	}
	return nil
}

// parents returns the pairs of columns of a foreign key.
func (s *swap) pairs(r *reference) (pairs [][2]string) {
	for i, column := range r.columns {
		refers := r.refers[i]
		if parent := s.table(r.parent); refers == "" && parent != nil && i < len(parent.Primary) {
			refers = parent.Primary[i]
		}
		pairs = append(pairs, [2]string{column, refers})
	}
	return pairs
}

// affected reports whether a column of a foreign key becomes a UUID.
func (s *swap) affected(r *reference) bool {
	return slices.ContainsFunc(s.pairs(r), func(pair [2]string) bool { return s.find(r.table, pair[0]) != nil || s.find(r.parent, pair[1]) != nil })
}

// add makes a column one that becomes a UUID.
func (s *swap) add(p place, column string, root *swapColumn, of *figures) (*swapColumn, string) {
	listed := s.table(p)
	if listed == nil {
		return nil, fmt.Sprintf("%s is not listed in the catalog", p.sql())
	}
	i := slices.IndexFunc(listed.Columns, func(c catalog.Column) bool { return s.sameColumn(c.Name, column) })
	if i < 0 {
		return nil, fmt.Sprintf("%s has no column %s", p.sql(), column)
	}
	at := slices.IndexFunc(s.tables, func(t *swapTable) bool { return t.Listed == listed })
	if at < 0 {
		at = len(s.tables)
		s.tables = append(s.tables, &swapTable{Listed: listed, place: place{s.dialect, listed.Schema, listed.Name}})
	}
	t := s.tables[at]
	c := &swapColumn{table: t, column: &listed.Columns[i], root: root, of: of}
	c.added, c.old = fitName(s.dialect, c.column.Name, "_uuid"), fitName(s.dialect, c.column.Name, "_old")
	if root == nil {
		c.root = c
	}
	t.columns = append(t.columns, c)
	return c, ""
}
