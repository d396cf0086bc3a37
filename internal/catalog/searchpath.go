package catalog

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// ErrPlace is returned by [Place] for an answer that cannot be read.
var ErrPlace = anchor.New("answer", "the session does not say where it looks for tables")

// Place returns where a session looks for tables without a schema: its answer to
// the query of [dialect.Place].
func Place(ctx context.Context, d *dialect.Dialect, q Querier) (string, error) {
	answer, _, err := placeBy(ctx, q, d.Place.Query, 1)
	return answer, err
}

// PlaceBeside is [Place] in a session that may have made temporary tables, and returns
// their names too. It needs [dialect.Place].Tables.
func PlaceBeside(ctx context.Context, d *dialect.Dialect, q Querier) (answer string, temporary []string, err error) {
	answer, names, err := placeBy(ctx, q, d.Place.Tables, 2)
	return answer, strings.FieldsFunc(names, func(r rune) bool { return r == '\n' }), err
}

func placeBy(ctx context.Context, q Querier, query string, width int) (answer, names string, err error) {
	rows, err := q.Rows(ctx, query)
	switch {
	case err != nil:
		return "", "", err
	case len(rows) != 1 || len(rows[0]) != width:
		return "", "", ErrPlace
	}
	c := cells{row: rows[0]}
	answer = c.text(0)
	if width > 1 {
		names = c.text(1)
	}
	return answer, names, c.err
}

// pathPostgreSQL is the answer that [dialect.Place].Query would give under a search path:
// its schemas that are there and that the user may use, each once.
const pathPostgreSQL = `SELECT CAST(ARRAY(
SELECT n.nspname FROM pg_catalog.unnest(CAST(CAST($1 AS text) AS text[])) WITH ORDINALITY AS w (name, place)
JOIN pg_catalog.pg_namespace n ON n.nspname = CASE w.name WHEN '$user' THEN current_user ELSE CAST(w.name AS name) END
WHERE pg_catalog.has_schema_privilege(n.oid, 'USAGE')
GROUP BY n.nspname ORDER BY min(w.place)) AS text)`

// PlaceBy returns what [Place] would return in a session of PostgreSQL whose search path
// has these schemas.
func PlaceBy(ctx context.Context, q Querier, path []string) (string, error) {
	b := []byte{'{'}
	for i, name := range path {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		for j := range len(name) {
			if name[j] == '"' || name[j] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, name[j])
		}
		b = append(b, '"')
	}
	return one(ctx, q, pathPostgreSQL, string(append(b, '}')))
}

const (
	// locatePostgreSQL looks for a table in the schemas of a search path. The
	// system's schemas come first where the path does not name them, but nobody
	// inserts into their tables.
	locatePostgreSQL = `SELECT CAST(n.nspname AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = CAST(CAST($1 AS text) AS name) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname = ANY (CAST(CAST($2 AS text) AS name[]))
ORDER BY pg_catalog.array_position(CAST(CAST($2 AS text) AS name[]), n.nspname)
LIMIT 1`

	// firstPostgreSQL asks in which schema a table without a schema is made.
	firstPostgreSQL = `SELECT CAST((CAST(CAST($1 AS text) AS name[]))[1] AS text)`

	// locateSQLite looks in main and then in the attached databases.
	locateSQLite = `SELECT d.name FROM pragma_database_list AS d, pragma_table_xinfo(?, d.name) AS c
WHERE d.name <> 'temp' ORDER BY d.seq LIMIT 1`

	locateSQLServer = `SELECT OBJECT_SCHEMA_NAME(o.object_id) FROM sys.objects o WHERE o.object_id = OBJECT_ID(@p1) AND o.type IN ('U', 'V')`
)

// Locate returns the schema of the table that a name without a schema means to a
// session, and whether there is such a table. answer is the session's answer to
// [Place]; temporary tables are left out. Of a table that is not there it
// returns the schema that it would be made in. On SQLite and SQL Server q asks
// that session.
func Locate(ctx context.Context, d *dialect.Dialect, q Querier, answer, table string) (schema string, found bool, err error) {
	switch d.Family {
	case dialect.FamilyPostgreSQL:
		schema, err = one(ctx, q, locatePostgreSQL, table, answer)
		if err == nil && schema == "" {
			schema, err = one(ctx, q, firstPostgreSQL, answer)
			return schema, false, err
		}
		return schema, true, err
	case dialect.FamilySQLite:
		if schema, err = one(ctx, q, locateSQLite, table); schema == "" {
			return "main", false, err
		}
		return d.Fold(schema, true), true, err
	case dialect.FamilySQLServer:
		if schema, err = one(ctx, q, locateSQLServer, nameOfSQLServer("", table)); schema == "" {
			_, schema, _ = strings.Cut(answer, "\n")
			return d.Fold(schema, true), false, err
		}
		return d.Fold(schema, true), true, err
	}
	return d.FoldTable(answer, true), true, nil
}

// one returns the only text of an answer, "" where the answer is empty.
func one(ctx context.Context, q Querier, query string, args ...any) (string, error) {
	rows, err := q.Rows(ctx, query, args...)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	c := cells{row: rows[0]}
	return c.text(0), c.err
}
