package catalog

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// ErrPlace is returned by [Place] if the session's answer cannot be read.
var ErrPlace = anchor.New("answer", "the session's search_path, or its current database, is empty")

// Where says where a session looks for tables whose names have no schema.
type Where struct {
	Place string // the schema or the search path: the first value of [dialect.Place].Query
	User  string // the user whose rights apply; empty if a session has only one user

	// Temporary are the names of the session's temporary tables that hide another table, if
	// the query asked for them.
	Temporary []string
}

// Place returns where a session looks for tables without a schema.
func Place(ctx context.Context, d *dialect.Dialect, q Querier) (Where, error) {
	texts, err := placeBy(ctx, q, d.Place.Query)
	return Where{Place: texts[0], User: texts[1]}, err
}

// PlaceBeside does what [Place] does in a session that may have made temporary tables, and
// returns their names too. It needs [dialect.Place].Tables.
func PlaceBeside(ctx context.Context, d *dialect.Dialect, q Querier) (Where, error) {
	texts, err := placeBy(ctx, q, d.Place.Tables)
	names := strings.FieldsFunc(texts[2], func(r rune) bool { return r == '\n' })
	return Where{Place: texts[0], User: texts[1], Temporary: names}, err
}

// placeBy returns the texts of the only row of a query.
func placeBy(ctx context.Context, q Querier, query string) (texts [3]string, err error) {
	rows, err := q.Rows(ctx, query)
	switch {
	case err != nil:
		return texts, err
	case len(rows) != 1 || len(rows[0]) == 0 || len(rows[0]) > len(texts):
		return texts, ErrPlace
	}
	c := cells{row: rows[0]}
	for i := range rows[0] {
		texts[i] = c.text(i)
	}
	return texts, c.err
}

// pathPostgreSQL returns what [dialect.Place].Query would return under the search path $1:
// the schemas of that path that exist and that the user may use, each once.
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
	// locatePostgreSQL looks for a table in the schemas of a search path. The system's
	// schemas come first where the path does not name them, but applications do not
	// insert into their tables.
	locatePostgreSQL = `SELECT CAST(n.nspname AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = CAST(CAST($1 AS text) AS name) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname = ANY (CAST(CAST($2 AS text) AS name[]))
ORDER BY pg_catalog.array_position(CAST(CAST($2 AS text) AS name[]), n.nspname)
LIMIT 1`

	// firstPostgreSQL returns the schema in which a table without a schema would be
	// created.
	firstPostgreSQL = `SELECT CAST((CAST(CAST($1 AS text) AS name[]))[1] AS text)`

	// locateSQLite finds the database of a table as homeSQLite does, but not among
	// temporary tables.
	locateSQLite = `SELECT CASE WHEN EXISTS (SELECT 1 FROM pragma_table_xinfo(?, 'main')) THEN 'main'
ELSE (SELECT d.name FROM pragma_database_list AS d WHERE d.seq > 1 AND EXISTS (SELECT 1 FROM pragma_table_xinfo(?, d.name)) LIMIT 1) END`

	locateSQLServer = `SELECT OBJECT_SCHEMA_NAME(o.object_id) FROM sys.objects o WHERE o.object_id = OBJECT_ID(@p1) AND o.type IN ('U', 'V')`
)

// Locate returns the schema of the table that a name without a schema means to a session,
// and whether there is such a table. answer is the session's answer to [Place]; temporary
// tables are left out. If there is no such table, Locate returns the schema in which it
// would be created. On SQLite and SQL Server, q has to query that session.
func Locate(ctx context.Context, d *dialect.Dialect, q Querier, answer, table string) (schema string, found bool, err error) {
	if locate := engines[d.Family].locate; locate != nil {
		return locate(ctx, d, q, answer, table)
	}
	return d.FoldTable(answer, true), true, nil
}

func locateInPostgreSQL(ctx context.Context, _ *dialect.Dialect, q Querier, answer, table string) (schema string, found bool, err error) {
	schema, err = one(ctx, q, locatePostgreSQL, table, answer)
	if err == nil && schema == "" {
		schema, err = one(ctx, q, firstPostgreSQL, answer)
		return schema, false, err
	}
	return schema, true, err
}

func locateInSQLite(ctx context.Context, d *dialect.Dialect, q Querier, _, table string) (schema string, found bool, err error) {
	if schema, err = one(ctx, q, locateSQLite, table, table); schema == "" {
		return "main", false, err
	}
	return d.Fold(schema, true), true, err
}

func locateInSQLServer(ctx context.Context, d *dialect.Dialect, q Querier, answer, table string) (schema string, found bool, err error) {
	if schema, err = one(ctx, q, locateSQLServer, nameOfSQLServer("", table)); schema == "" {
		_, schema, _ = strings.Cut(answer, "\n")
		return d.Fold(schema, true), false, err
	}
	return d.Fold(schema, true), true, err
}

// one returns the only text of an answer, empty if the answer is empty.
func one(ctx context.Context, q Querier, query string, args ...any) (string, error) {
	rows, err := q.Rows(ctx, query, args...)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	c := cells{row: rows[0]}
	return c.text(0), c.err
}
