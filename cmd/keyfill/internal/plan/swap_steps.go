package plan

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

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
// change a row only if it does not have the UUID of its key yet. Each of them changes only a
// part of a large table, so that programs do not wait long.
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
		return []string{""}, nil // a key has more than 63 bits, or is a text of SQLite: the table is not divided
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
	again := Step{Title: "Stop all programs that use the tables: from the swap on the keys are UUIDs, which the programs have to expect. Read the triggers, functions and views that name the columns: they see UUIDs, and an INSERT of theirs has to bring a key. Give keys to the last rows.", Run: backfill}
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
