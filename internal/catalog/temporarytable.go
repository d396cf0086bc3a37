package catalog

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// showTable is followed by the name as the INSERT writes it. The answer holds the CREATE
// statement of the table that the session means: "SHOW CREATE TABLE Statement" of the MySQL
// 8.4 Reference Manual.
const (
	showTable     = "SHOW CREATE TABLE "
	showTemporary = "CREATE TEMPORARY TABLE"
)

// temporaryPostgreSQL finds the table by the same conditions as impliedColumnsPostgreSQL.
const temporaryPostgreSQL = `SELECT CAST(c.relpersistence AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = CAST(CAST($1 AS text) AS name) AND c.relpersistence = 't'
AND CASE CAST($2 AS text) WHEN '' THEN pg_catalog.pg_table_is_visible(c.oid)
WHEN 'pg_temp' THEN n.oid = pg_catalog.pg_my_temp_schema()
ELSE n.nspname = CAST(CAST($2 AS text) AS name) END`

// A name without schema is looked for in temp first:
// https://www.sqlite.org/lang_naming.html.
const temporarySQLite = `SELECT 1 FROM sqlite_temp_master
WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE AND ? IN ('', 'temp')`

// Temporary reports whether a name means a temporary table of the session; false if there
// is no such table. It sends one query, on the connection whose temporary tables are meant.
// On MySQL and MariaDB, the server's error is returned for a name that means nothing.
// Engines other than MySQL, MariaDB, PostgreSQL and SQLite have no temporary table with
// another table's name.
func Temporary(ctx context.Context, d *dialect.Dialect, q Querier, n Name) (bool, error) {
	if ask := engines[d.Family].temporary; ask != nil {
		return ask(ctx, q, n)
	}
	return false, nil
}

func temporaryInMySQL(ctx context.Context, q Querier, n Name) (bool, error) {
	rows, err := q.Rows(ctx, showTable+n.Text)
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 {
		return false, err
	}
	c := cells{row: rows[0]}
	return strings.HasPrefix(c.text(1), showTemporary), c.err
}

func temporaryInPostgreSQL(ctx context.Context, q Querier, n Name) (bool, error) {
	rows, err := q.Rows(ctx, temporaryPostgreSQL, n.Table, n.Schema)
	return len(rows) > 0, err
}

func temporaryInSQLite(ctx context.Context, q Querier, n Name) (bool, error) {
	rows, err := q.Rows(ctx, temporarySQLite, n.Table, n.Schema)
	return len(rows) > 0, err
}
