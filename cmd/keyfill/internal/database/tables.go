package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// SplitName splits the name of a table as a policy writes it: table or schema.table, in the
// quotes of SQL where a part needs them. The returned parts are in the case in which the
// engine compares names.
func SplitName(d *dialect.Dialect, written string) (schema, table string, err error) {
	cfg := &policy.Config{Version: 1, Tables: map[string]policy.Table{written: {Column: "id"}}}
	p, err := cfg.Compile(d)
	if err != nil {
		return "", "", err
	}
	return p.ParseName(written)
}

// ReadTable reads the catalog's facts about a table, whose name is written as in a policy.
// If there is no such table, the error suggests similar names.
func ReadTable(ctx context.Context, db *sql.DB, d *dialect.Dialect, written string) (*catalog.Table, error) {
	schema, table, err := SplitName(d, written)
	if err != nil {
		return nil, err
	}
	return ReadFolded(ctx, db, d, schema, table, written)
}

// ReadFolded is ReadTable for the folded parts of a name. If there is no such table, the error
// suggests names that are similar to written.
func ReadFolded(ctx context.Context, db *sql.DB, d *dialect.Dialect, schema, table, written string) (*catalog.Table, error) {
	q := catalog.DB(db)
	found, err := catalog.Read(ctx, d, q, schema, table)
	if !catalog.IsNoTable(err) {
		return found, err
	}
	var schemas []string
	if schema != "" {
		schemas = []string{schema}
	}
	all, listErr := catalog.List(ctx, d, q, schemas)
	if listErr != nil {
		return nil, err // err says more precisely than listErr what is wrong
	}
	return nil, fmt.Errorf("%w%s", err, nearest.DidYouMean(written, all.Names()))
}

// ColumnOf returns a column of a table by its name in the policy. If there is no such
// column, remedy ends the error's text.
func ColumnOf(d *dialect.Dialect, t *catalog.Table, written, remedy string) (*catalog.Column, error) {
	return FoldedColumn(d, t, FoldColumn(d, written), written, remedy)
}

// FoldColumn returns the folded name of a column, which is written as in a policy.
func FoldColumn(d *dialect.Dialect, written string) string {
	if _, name, err := SplitName(d, written); err == nil && name != written {
		return d.Fold(name, true) // SplitName has folded the name already, or the name was quoted and needs no folding
	}
	return d.Fold(written, false)
}

// FoldedColumn is ColumnOf for a folded name. If the table has no such column, the error suggests
// names that are similar to written.
func FoldedColumn(d *dialect.Dialect, t *catalog.Table, folded, written, remedy string) (*catalog.Column, error) {
	if c := t.Column(d, folded); c != nil {
		return c, nil
	}
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return nil, fmt.Errorf("%s has no column %s: name one that it has%s%s", t.Name, written, remedy, nearest.DidYouMean(written, names))
}
