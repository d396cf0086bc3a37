package catalog

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
)

// tableNames ask for the names of the tables in a schema, or where the schema is NULL of
// those that a name without schema finds.
var tableNames = map[dialect.Family]string{
	dialect.FamilyMySQL: "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = COALESCE(?, DATABASE())",
	dialect.FamilyPostgreSQL: `SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
AND CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = CAST($1 AS text) END`,
	dialect.FamilySQLite: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND ?1 IS NULL",
}

// Meant adds to an [ErrNoTable] of [Read] the names of tables that were likely meant, and
// returns any other error as it is. It asks for all names of the schema.
func Meant(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string, err error) error {
	var missing *Error
	query := tableNames[d.Family]
	if query == "" || !errors.As(err, &missing) || !errors.Is(err, ErrNoTable) {
		return err
	}
	var within any
	switch {
	case schema != "":
		within = schema
	case d.Family == dialect.FamilyPostgreSQL:
		within = "" // a NULL has no type there
	}
	rows, failed := q.Rows(ctx, query, within)
	if failed != nil {
		return err // that the table is not there counts
	}
	var names []string
	for _, row := range rows {
		c := cells{row: row}
		if name := c.text(0); c.err == nil {
			names = append(names, name)
		}
	}
	said := *missing
	said.Detail += nearest.DidYouMean(table, names)
	return &said
}
