package plan

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

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

// readReferences reads the foreign keys of the database. A foreign key of SQLite that names
// no columns of the parent refers to its primary key.
func (s *swap) readReferences(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // the transaction only reads
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
