package plan

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// swap is the plan by which integer keys, and the columns that refer to them, become UUIDs.
//
// Beside each column there is a column of UUIDs while programs go on. A column that refers
// to a key, directly or by way of other columns, is its root's: its UUIDs are those of the
// rows of the root with the same integers. At the swap each UUID column takes the name of
// its integer column, with its indexes, constraints and foreign keys. The integers stay in
// a column of another name until the operator drops it.
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
	limit int    // the greatest length of a name; 0 if there is no limit
	runes bool   // whether limit counts characters, not bytes
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
	columns, refers []string // the columns of the table, and those of the parent to which they refer
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

// newSwap reads the tables and foreign keys of the database.
func newSwap(ctx context.Context, db *sql.DB, chosen []*figures) (*swap, error) {
	f := chosen[0]
	s := &swap{dialect: f.dialect, rules: f.engine.swap, db: db, chosen: chosen}
	if err := s.readReferences(ctx); err != nil {
		return nil, err
	}
	var schemas []string
	for _, one := range chosen {
		schemas = append(schemas, one.found.Schema)
	}
	for _, r := range s.refs {
		schemas = append(schemas, r.table.schema)
	}
	slices.Sort(schemas)
	var err error
	s.over, err = catalog.List(ctx, s.dialect, catalog.DB(db), slices.Compact(schemas))
	return s, err
}

// readReferences reads the foreign keys of the database. On SQLite a foreign key may not
// name the columns of the parent: then they are those of its primary key.
func (s *swap) readReferences(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	if s.rules.begin != "" {
		if _, err := tx.ExecContext(ctx, s.rules.begin); err != nil {
			return err
		}
	}
	rows, err := tx.QueryContext(ctx, s.rules.refs)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var schema, table, name, column, parentSchema, parent, definition string
		var refers sql.NullString
		if err := rows.Scan(&schema, &table, &name, &column, &parentSchema, &parent, &refers, &definition); err != nil {
			return err
		}
		at := place{s.dialect, schema, table}
		if n := len(s.refs); n == 0 || s.refs[n-1].name != name || s.refs[n-1].table != at {
			s.refs = append(s.refs, &reference{name: name, table: at, parent: place{s.dialect, parentSchema, parent}, definition: definition})
		}
		r := s.refs[len(s.refs)-1]
		r.columns, r.refers = append(r.columns, column), append(r.refers, refers.String)
	}
	return rows.Err()
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

// same reports whether two names are those of one table. SQLite stores the name of a parent
// as the foreign key writes it.
func (s *swap) same(a, b place) bool {
	return a.schema == b.schema && (a.name == b.name || s.dialect.Family == dialect.FamilySQLite && strings.EqualFold(a.name, b.name))
}

// sameColumn reports whether two names are those of one column.
func (s *swap) sameColumn(a, b string) bool {
	return a == b || s.dialect.Family != dialect.FamilyPostgreSQL && strings.EqualFold(a, b)
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

// convert finds the columns that become UUIDs, and what keeps keys from being swapped.
func (s *swap) convert(ctx context.Context) (problems []problem, _ error) {
	chosen := func(p place, column string) bool {
		return slices.ContainsFunc(s.chosen, func(f *figures) bool { return s.same(f.place(), p) && s.sameColumn(f.column.Name, column) })
	}
	for _, f := range s.chosen {
		var parents []string
		isDerived := false
		for _, r := range s.refs {
			for _, pair := range s.pairs(r) {
				isSelf := s.same(r.table, r.parent) && s.sameColumn(pair[0], pair[1])
				if s.same(r.table, f.place()) && s.sameColumn(pair[0], f.column.Name) && !isSelf {
					if isDerived = chosen(r.parent, pair[1]); !isDerived {
						parents = append(parents, fmt.Sprintf("%s refers to %s: name that table too", f.ref, catalog.PolicyTable(s.dialect, r.parent.schema, r.parent.name)))
					}
				}
			}
		}
		switch {
		case parents != nil:
			problems = append(problems, problem{f, parents[0]})
		case isDerived:
		case !f.column.Integer:
			problems = append(problems, problem{f, fmt.Sprintf("%s is %s, which is no integer", f.ref, f.column.Type)})
		default:
			root, text := s.add(f.place(), f.column.Name, nil, f)
			if root == nil {
				problems = append(problems, problem{f, text})
				continue
			}
			problems = append(problems, s.follow(root)...)
		}
	}
	for _, f := range s.chosen {
		if s.find(f.place(), f.column.Name) == nil && !slices.ContainsFunc(problems, func(p problem) bool { return p.of == f }) {
			problems = append(problems, problem{f, fmt.Sprintf("%s refers to a key that is left out, or to itself by way of other tables", f.ref)})
		}
	}
	for _, t := range s.tables {
		found, err := s.examine(ctx, t)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// follow adds the columns that refer to the root's column, directly or by way of others.
func (s *swap) follow(root *swapColumn) (problems []problem) {
	for next := []*swapColumn{root}; len(next) > 0; next = next[1:] {
		parent := next[0]
		for _, r := range s.refs {
			for _, pair := range s.pairs(r) {
				if !s.same(r.parent, parent.table.place) || !s.sameColumn(pair[1], parent.column.Name) {
					continue
				}
				switch c := s.find(r.table, pair[0]); {
				case c == nil:
					c, text := s.add(r.table, pair[0], root, root.of)
					if c == nil {
						problems = append(problems, problem{root.of, text})
						continue
					}
					next = append(next, c)
				case c.root != root:
					problems = append(problems, problem{root.of, fmt.Sprintf("%s refers to %s and to %s", c, c.root, root)}, problem{c.of, fmt.Sprintf("%s refers to %s and to %s", c, c.root, root)})
				}
			}
		}
	}
	return problems
}

// examine returns what keeps the columns of a table from being swapped, and reads what the
// statements have to repeat.
func (s *swap) examine(ctx context.Context, t *swapTable) (problems []problem, _ error) {
	every := func(text string) {
		for _, c := range t.columns {
			problems = append(problems, problem{c.of, text})
		}
	}
	name := catalog.PolicyTable(s.dialect, t.written(), t.name)
	switch {
	case t.View:
		every(name + " is a view")
	case t.Split || t.Partition || t.Child:
		every(name + " has partitions, or inherits from another table")
	case t.Twin != "":
		every(name + " is in a file that is attached twice")
	}
	if problems != nil {
		return problems, nil
	}
	for _, c := range t.columns {
		say := func(format string, args ...any) {
			problems = append(problems, problem{c.of, fmt.Sprintf(format, args...)})
		}
		for _, other := range []string{c.added, c.old} {
			if slices.ContainsFunc(t.Columns, func(col catalog.Column) bool { return strings.EqualFold(col.Name, other) }) ||
				slices.ContainsFunc(t.columns, func(o *swapColumn) bool {
					return o != c && (strings.EqualFold(o.added, other) || strings.EqualFold(o.old, other))
				}) {
				say("%s has a column %s already: rename it", name, other)
			}
		}
		for _, r := range s.refs {
			for _, pair := range s.pairs(r) {
				if s.same(r.table, t.place) && s.sameColumn(pair[0], c.column.Name) && s.find(r.parent, pair[1]) == nil {
					say("%s refers to %s.%s too, which stays an integer", c, r.parent.name, pair[1])
				}
			}
		}
		if c.column.Generated {
			say("%s is a generated column", c)
		}
		if def := t.Default[c.column.Name]; c.root != c && def != "" && !strings.HasPrefix(strings.ToUpper(def), "NULL") {
			say("%s has the default %s: drop it first", c, def)
		}
		if c.root == c && !t.IsUniqueWith(c.column.Name, nil) {
			say("%s is not unique alone", c)
		}
		if c.root == c || slices.ContainsFunc(problems, func(p problem) bool { return p.of == c.of }) {
			continue
		}
		var orphan int
		query := c.sql("SELECT COUNT(*) FROM {table} c LEFT JOIN {root} r ON r.{root column} = c.{column} WHERE c.{column} IS NOT NULL AND r.{root column} IS NULL")
		if err := s.db.QueryRowContext(ctx, query).Scan(&orphan); err != nil {
			return nil, err
		}
		if orphan > 0 {
			say("%d rows of %s have a %s that %s does not have: correct or delete them, and print the plan again. %s finds them", orphan, name, c.column.Name, c.root, strings.Replace(query, "COUNT(*)", "c.*", 1))
		}
	}
	found, err := s.rules.read(ctx, s, t)
	return append(problems, found...), err
}

// nameIndexes chooses the names of the indexes that the plan adds, which no index has yet.
func (s *swap) nameIndexes(ctx context.Context) error {
	taken := map[string]bool{}
	for _, c := range s.columns() {
		if c.root != c {
			continue
		}
		f := c.of
		rows, err := s.db.QueryContext(ctx, f.sql(s.rules.names))
		if err != nil {
			return err
		}
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			taken[strings.ToLower(name)] = true
		}
		if err := rows.Close(); err != nil {
			return err
		}
		for i := 1; ; i++ {
			suffix := "_uuid"
			if i > 1 {
				suffix = fmt.Sprintf("_uuid%d", i)
			}
			if f.index = fitName(s.dialect, c.table.name+"_"+c.column.Name, suffix); !taken[strings.ToLower(f.index)] {
				break
			}
		}
		taken[strings.ToLower(f.index)] = true
	}
	return nil
}

// fitName returns the base with the suffix, the base cut where the name would be longer
// than the engine allows.
func fitName(d *dialect.Dialect, base, suffix string) string {
	rules := engines[d.Family].swap
	if rules == nil || rules.limit == 0 {
		return base + suffix
	}
	length := func(text string) int {
		if rules.runes {
			return utf8.RuneCountInString(text)
		}
		return len(text)
	}
	for length(base)+len(suffix) > rules.limit {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	return base + suffix
}

// addReferences returns the statements that add the UUID columns beside the columns that
// refer to keys.
func (s *swap) addReferences() (statements []string) {
	for _, c := range s.columns() {
		if c.root != c {
			add := strings.NewReplacer(append(c.sqlNames(), "{uuid}", c.of.uuidType())...).Replace(c.of.engine.add)
			statements = append(statements, s.rules.again(c.table.place, c.added, "", []string{add})...)
		}
	}
	return statements
}

// fillStatements returns the statements that fill the columns that refer to keys. They
// change a row only if its UUIDs are not yet those of its keys, and many statements change
// a part of a large table each, so that programs do not wait long.
func (s *swap) fillStatements(ctx context.Context) (statements []string, _ error) {
	for _, t := range s.tables {
		if !slices.ContainsFunc(t.columns, func(c *swapColumn) bool { return c.root != c }) {
			continue
		}
		parts, err := s.parts(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, between := range parts {
			statements = append(statements, s.rules.fill(t, between))
		}
	}
	return statements, nil
}

// One UPDATE that fills columns goes over partRows keys, or more if a table would need
// more than mostParts of them.
const (
	partRows  = 10_000
	mostParts = 1_000
)

// parts returns the conditions that divide a table by the first column of its primary key
// if that is an integer. The first and the last one have one end: they find all other rows.
func (s *swap) parts(ctx context.Context, t *swapTable) (conditions []string, _ error) {
	if len(t.Primary) == 0 {
		return []string{""}, nil
	}
	i := slices.IndexFunc(t.Columns, func(c catalog.Column) bool { return c.Name == t.Primary[0] })
	if i < 0 || !t.Columns[i].Integer || t.Columns[i].Text {
		return []string{""}, nil
	}
	column := s.dialect.QuoteIdent(t.Primary[0])
	var least, greatest sql.NullInt64
	if err := s.db.QueryRowContext(ctx, fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %s", column, t.sql())).Scan(&least, &greatest); err != nil {
		return []string{""}, nil //nolint:nilerr // a key beyond 63 bits, or SQLite's text in a column of integers
	}
	width := uint64(greatest.Int64 - least.Int64)
	if width < partRows {
		return []string{""}, nil
	}
	step := int64(max(partRows, width/mostParts))
	column = "c." + column
	at := least.Int64 + step
	conditions = []string{fmt.Sprintf("%s < %d", column, at)}
	for ; at < greatest.Int64-step; at += step {
		conditions = append(conditions, fmt.Sprintf("%s >= %d AND %s < %d", column, at, column, at+step))
	}
	return append(conditions, fmt.Sprintf("%s >= %d", column, at)), nil
}

// guards returns for each column a query that counts the rows that are not ready for the
// swap, and a text about them.
func (s *swap) guards() (all [][2]string) {
	for _, c := range s.columns() {
		if c.root == c {
			all = append(all, [2]string{c.sql("SELECT COUNT(*) FROM {table} WHERE {new} IS NULL"),
				fmt.Sprintf("rows of %s have no %s", c.table.name, c.added)})
			continue
		}
		differs := strings.NewReplacer("{a}", c.sql("c.{new}"), "{b}", c.sql("r.{root new}")).Replace(s.rules.differs)
		all = append(all, [2]string{c.sql("SELECT COUNT(*) FROM {table} c LEFT JOIN {root} r ON r.{root column} = c.{column} WHERE " + differs),
			fmt.Sprintf("rows of %s need another %s", c.table.name, c.added)})
		all = append(all, [2]string{c.sql("SELECT COUNT(*) FROM {table} c LEFT JOIN {root} r ON r.{root column} = c.{column} WHERE c.{column} IS NOT NULL AND r.{root column} IS NULL"),
			fmt.Sprintf("rows of %s have no parent by %s", c.table.name, c.column.Name)})
	}
	return all
}

// steps returns the steps from UUIDs beside the keys to UUIDs as keys. backfill are the
// commands that fill the keys' UUIDs, after the entries of the policy after the swap.
func (s *swap) steps(ctx context.Context, backfill, after []string) ([]Step, error) {
	statements, err := s.fillStatements(ctx)
	if err != nil {
		return nil, err
	}
	var steps []Step
	again := Step{Title: "Stop all programs that use the tables: from the swap on the keys are UUIDs, which the programs have to expect. Give keys to the last rows.", Run: backfill}
	if statements != nil {
		fill := Step{Title: "Fill the columns that refer to keys, while programs go on. Run it again if a deadlock or a lock ends it: it goes on where it has stopped.", Name: "fill-references", SQL: statements}
		again.Title += " Then run the step before this one again."
		steps = append(steps, fill)
	}
	swap := Step{
		Title: "Swap the columns: each UUID column takes the name, the indexes and the foreign keys of its integer column. Nothing is changed if a row has no UUID, or not its parent's. The engine writes the tables again: measure it on a copy.",
		Name:  "swap", SQL: s.rules.swap(s),
		Again: s.rules.stopped,
	}
	drop := Step{Title: "When nothing needs the integers any more, drop them. There is no way back from here.", Name: "drop-old-columns"}
	for _, c := range s.columns() {
		drop.SQL = append(drop.SQL, s.rules.drop(c)...)
	}
	if s.rules.atomic != nil {
		drop.SQL = s.rules.atomic(drop.SQL)
	}
	return append(steps, again, swap, Step{
		Title:  "Give this policy to the programs, whose keys are UUIDs now, and start them. Until the next step the old integers are in columns whose names end in _old.",
		Policy: strings.Join(after, "\n"),
	}, drop), nil
}
