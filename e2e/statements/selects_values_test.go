package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// The values that an INSERT … SELECT stores are those that it stores without keyfill,
// whatever the expression, the column's type and the shape of the query. Plain and filled
// statements are executed side by side, and the engine compares.

// valueItems are expressions over h, which is the table hits: see createHits.
var valueItems = map[string][]string{
	"": {
		"h.a", "h.c / h.v", "h.n", "h.n / 3", "h.f", "h.f / 3", "h.s", "NULL", "1", "1.50", "-h.a", "h.a + h.n", "h.a * h.f",
		"COALESCE(h.n, 0)", "CASE WHEN h.a > 1 THEN 1.5 ELSE 2 END", "CAST(h.c AS DECIMAL(20,10)) / 3", "UPPER(h.s)", "h.d",
		"(SELECT MAX(g.a) FROM hits g)", "ROUND(h.n, 1)", "ABS(h.f)", "LENGTH(h.s)", "'2020-02-03'", "'7'",
	},
	"mariadb": {
		"0x41", "b'01000001'", "x'41'", "@quotient", "@text", "IF(h.a > 1, 1.5, 2)", "ROUND(h.f)", "CEIL(h.f)", "h.a DIV 2", "h.a % 2",
		"h.d + 0", "GREATEST(h.n, 1)", "LEAST(h.a, '3')", "h.s * 2", "PI()", "CONCAT(h.s, h.a)", "CAST(h.c AS CHAR)", "CAST(h.f AS FLOAT)",
		"NULLIF(h.c / h.v, 0)", "_utf8mb4'é'", "'x\xe9y'", "DATE_ADD(h.d, INTERVAL 1 DAY)", "h.bits", "h.e", "JSON_EXTRACT('[1.50]', '$[0]')", "TRUE", "LOG(0)", "h.a / 0",
	},
	"postgres": {"h.c / h.v::numeric", "h.c::float8 / h.v", "ARRAY[h.a]::text", "h.d + 1", "B'1'::text", "'\\x41'::bytea::text", "h.s || h.a"},
	"sqlite":   {"h.c * 1.0 / h.v", "x'41'", "h.s || h.a", "CAST(h.n AS TEXT)", "0x41"},
}

// valueTotals are expressions over the rows of a group.
var valueTotals = map[string][]string{
	"":         {"SUM(h.c) / SUM(h.v)", "AVG(h.a)", "AVG(h.n / 3)", "SUM(h.n)", "MAX(h.s)", "COUNT(*)", "MIN(h.d)", "SUM(h.f)"},
	"mariadb":  {"AVG(h.c / h.v)", "MAX(h.bits)", "MAX(h.e)", "STDDEV(h.a)", "GROUP_CONCAT(h.s ORDER BY h.s)", "BIT_OR(h.a)", "MAX(h.f)"},
	"postgres": {"STRING_AGG(h.s, ',' ORDER BY h.s)", "STDDEV(h.a)"},
	"sqlite":   {"GROUP_CONCAT(h.s)", "TOTAL(h.n)"},
}

// valueShapes are queries with an expression at %s.
var valueShapes = []string{
	"SELECT %s FROM hits h",
	"SELECT %s FROM hits h WHERE h.a > 1 ORDER BY h.a, h.s LIMIT 2",
	"SELECT DISTINCT %s FROM hits h",
	"SELECT %s FROM hits h JOIN pairs p ON p.a = h.a",
	"SELECT x.e FROM (SELECT %s AS e FROM hits h) x",
	"SELECT %s FROM hits h UNION ALL SELECT %[1]s FROM hits h WHERE h.a = 1",
	"SELECT %s FROM hits h UNION SELECT %[1]s FROM hits h WHERE h.a = 1",
	"WITH w AS (SELECT %s AS e FROM hits h) SELECT e FROM w",
}

// totalShapes are queries of groups.
var totalShapes = []string{
	"SELECT %s FROM hits h",
	"SELECT %s FROM hits h GROUP BY h.g",
	"SELECT %s FROM hits h GROUP BY h.g HAVING COUNT(*) > 1 ORDER BY MIN(h.a) LIMIT 2",
	"SELECT x.e FROM (SELECT %s AS e FROM hits h GROUP BY h.g) x",
}

// valueTypes are the types of columns that values are stored in.
var valueTypes = map[string][]string{
	"mariadb": {"INT", "BIGINT UNSIGNED", "DECIMAL(20,12)", "DOUBLE", "FLOAT", "VARCHAR(60)", "CHAR(40)", "TEXT", "BLOB", "VARBINARY(60)", "DATE",
		"DATETIME(6)", "TIME(6)", "YEAR", "BIT(16)", "JSON"},
	"postgres": {"int", "bigint", "numeric(20,12)", "float8", "real", "varchar(60)", "char(40)", "text", "bytea", "date", "timestamptz", "time", "boolean",
		"jsonb", "bit varying(16)", "numeric"},
	"sqlite": {"INT", "NUMERIC", "REAL", "TEXT", "BLOB", "DATE", "VARCHAR(60)", "BOOLEAN"},
}

// createHits makes the tables that the queries read, and for each type t<i> and p<i>.
func createHits(t *testing.T, s *harness.Scratch, types []string, key string) {
	t.Helper()
	bits, enum := "INT", "VARCHAR(9)"
	if s.Dialect.Name == "mariadb" {
		bits, enum = "BIT(8)", "ENUM('x', 'y')"
	}
	harness.Exec(t, s.Raw, "CREATE TABLE hits (a INT, c INT, v INT, n DECIMAL(12,4), f DOUBLE PRECISION, s VARCHAR(20), d DATE, g INT, bits "+bits+", e "+enum+")")
	harness.Exec(t, s.Raw, `INSERT INTO hits (a, c, v, n, f, s, d, g) VALUES (1, 1, 3, 1.2500, 0.1, 'one', '2020-01-31', 1),
		(2, 5, 7, -3.3333, -2.5, 'two', '2021-02-28', 1), (3, 10, 3, 100, 1e300, '3', NULL, 2), (4, NULL, 2, NULL, NULL, NULL, '1999-12-31', 2)`)
	if s.Dialect.Name == "mariadb" {
		harness.Exec(t, s.Raw, "UPDATE hits SET bits = a * 40, e = IF(a > 2, 'x', 'y')")
	}
	harness.Exec(t, s.Raw, "CREATE TABLE pairs (a INT)")
	harness.Exec(t, s.Raw, "INSERT INTO pairs VALUES (1), (1), (3)")
	for i, typ := range types {
		for _, table := range []string{"t", "p"} {
			harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s%d (id %s, v %s)", table, i, key, typ))
		}
	}
}

// TestSelectValues: what is stored is what plain stores, or nothing where plain stores
// nothing. A column with AUTO_INCREMENT is numbered by the engine, and nothing is refused.
//
//deviation:insert-select | The engine numbers the rows if the column has AUTO_INCREMENT and leads an index of InnoDB: keyfill puts SET STATEMENT with the first reserved number before the text. If something else took that number for another table, the INSERT fails. | MariaDB | `SET STATEMENT insert_id=…, auto_increment_increment=1 FOR INSERT INTO t (a) SELECT …` | –
//deviation:insert-select | Around `INSERT … SELECT` into a column with AUTO_INCREMENT keyfill makes a transaction, after which `ROW_COUNT()` is 0, or sets the savepoint `keyfill_rows` in the application's transaction, where it stays. If more rows come than keyfill counted, keyfill undoes the statement and sends it again. | MariaDB | `INSERT INTO t (a) SELECT a FROM s`, then `SELECT ROW_COUNT()` | RowsAffected; `BeginTx`
func TestSelectValues(t *testing.T) {
	t.Parallel()
	on := []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.SQLiteFile}
	harness.Each(t, on, func(t *testing.T, s *harness.Scratch) {
		plainKey := map[string]string{"mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "BIGSERIAL PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[s.Dialect.Name]
		types := valueTypes[s.Dialect.Name]
		createHits(t, s, types, plainKey)
		cfg := &policy.Config{Tables: map[string]policy.Table{}}
		for i := range types {
			cfg.Tables[fmt.Sprintf("t%d", i)] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}
		}
		db, _ := s.Open(t, cfg)
		filled, plain := heldConn(t, db), heldConn(t, s.Raw)
		if s.Dialect.Name == "mariadb" {
			for _, c := range []*sql.Conn{filled, plain} {
				execOn(t, c, "SET @quotient = 1/3, @text = 'x'")
			}
		}
		type stored struct {
			column int
			query  string
		}
		var all []stored
		for i := range types {
			for _, query := range valueQueries(s.Dialect.Name) {
				all = append(all, stored{i, query})
			}
		}
		for _, one := range testturn.Some(t, all, 11) { // no number of queries or types has this factor
			compareStored(t, s, filled, plain, one.column, types[one.column], one.query)
		}
	})
}

// valueQueries returns the queries of a dialect.
func valueQueries(dialect string) (queries []string) {
	each := func(shapes, items []string) {
		for _, item := range items {
			for _, shape := range shapes {
				queries = append(queries, fmt.Sprintf(shape, item))
			}
		}
	}
	each(valueShapes, slices.Concat(valueItems[""], valueItems[dialect]))
	each(totalShapes, slices.Concat(valueTotals[""], valueTotals[dialect]))
	return queries
}

// compareStored executes a query's INSERT with keyfill and without.
func compareStored(t *testing.T, s *harness.Scratch, filled, plain *sql.Conn, i int, typ, query string) {
	t.Helper()
	ctx := context.Background()
	text := func(table string) string { return fmt.Sprintf("INSERT INTO %s%d (v) %s", table, i, query) }
	_, want := plain.ExecContext(ctx, text("p"))
	_, err := filled.ExecContext(ctx, text("t"))
	var refusal *keyfill.Error
	refused := errors.As(err, &refusal) && errors.Is(err, rewrite.ErrSelectForm)
	if (want == nil) != (err == nil) && !refused {
		t.Errorf("%s into %s: plain %v, filled %v", query, typ, want, err)
	}
	rows := func(table string) []string {
		return harness.RowsOf(t, s.Raw, fmt.Sprintf("SELECT %s FROM %s%d ORDER BY 1", exactText(s.Dialect.Name), table, i))
	}
	if got, want := rows("t"), rows("p"); !slices.Equal(got, want) && !refused {
		t.Errorf("%s into %s: stored %q, want %q", query, typ, got, want)
	}
	for _, table := range []string{"t", "p"} {
		harness.Exec(t, s.Raw, fmt.Sprintf("DELETE FROM %s%d", table, i))
	}
}

// exactText is an expression for all that is stored in v.
func exactText(dialect string) string {
	switch dialect {
	case "mariadb":
		return "COALESCE(HEX(CAST(v AS BINARY)), '-')"
	case "sqlite":
		return "typeof(v) || quote(v)"
	}
	return "COALESCE(CAST(v AS text), '-')"
}

func heldConn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func execOn(t *testing.T, c *sql.Conn, query string) {
	t.Helper()
	if _, err := c.ExecContext(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestSelectValuesOfViews: the columns of a view may be expressions, which are not in the
// text. MariaDB numbers the rows itself if the key has AUTO_INCREMENT; else a value that
// may change is refused.
//
//deviation:insert-select | Integer keys of other columns are numbered in a temporary table, which changes some values (`a / b`, `0x41`, AVG). The INSERT is filled if each item is a column, literal, CAST or tested function, or the engine says that it is an integer or exact arithmetic. | MySQL; MariaDB without AUTO_INCREMENT, with IGNORE, REPLACE, ON DUPLICATE KEY UPDATE, a trigger or a function that may change something | `INSERT INTO t (a) SELECT b / 3 FROM s` | `CAST(b / 3 AS DECIMAL(20,10))`; AUTO_INCREMENT and `exclusive: true`
//deviation:insert-select | Where rows are numbered in a temporary table, a query that reads views is filled if its columns are integers, text or times. | MySQL, MariaDB | `INSERT INTO t (a) SELECT a FROM a_view` | read the tables of the view
func TestSelectValuesOfViews(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, v DOUBLE)", "CREATE TABLE u (id BIGINT AUTO_INCREMENT PRIMARY KEY, v DOUBLE)",
			"CREATE TABLE h (a INT, b INT)", "INSERT INTO h VALUES (1, 3), (5, 7)", "CREATE VIEW rates AS SELECT a, a / b AS r FROM h",
			"CREATE TABLE plain (v DOUBLE)", "INSERT INTO plain SELECT r FROM rates")
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: source}, "u": {Column: "id", InPlace: source}}})
		if _, err := db.Exec("INSERT INTO t (v) SELECT x.r FROM h, rates x WHERE x.a = h.a"); !errors.Is(err, rewrite.ErrSelectValues) {
			t.Errorf("a quotient of a view: %v", err)
		}
		harness.Exec(t, db, "INSERT INTO t (v) SELECT a FROM rates")
		harness.Exec(t, db, "INSERT INTO u (v) SELECT r FROM rates")
		got, want := harness.RowsOf(t, s.Raw, "SELECT v FROM u ORDER BY v"), harness.RowsOf(t, s.Raw, "SELECT v FROM plain ORDER BY v")
		if !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
	})
}

// TestSelectStrict: MariaDB is strict where it numbers rows in a temporary table, and not
// where it stores them as they come.
//
//deviation:insert-select | Where rows are numbered in a temporary table, strict mode makes errors of warnings: a division by 0, a time that is too late, a text compared with a number. The plain driver stores NULL or the result. | MariaDB | `INSERT INTO t (a) SELECT b % 0 FROM s UNION SELECT 1 FROM s`; `SELECT name = 1 FROM s` | AUTO_INCREMENT and `exclusive: true`
func TestSelectStrict(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT)", "CREATE TABLE u (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)",
			"CREATE TABLE h (a INT, b VARCHAR(9))", "INSERT INTO h VALUES (1, 'x')", "CREATE TABLE plain (v INT)")
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: source}, "u": {Column: "id", InPlace: source}}})
		for _, query := range []string{
			" (v) SELECT a % (a - 1) FROM h UNION SELECT 5 FROM h", // a division by 0
			" (v) SELECT b = 1 FROM h",                             // a text that is no number
			" (v) SELECT NOT b FROM h",
		} {
			harness.Must(t, s.Raw, "DELETE FROM plain", "DELETE FROM u", "INSERT INTO plain"+query)
			harness.Exec(t, db, "INSERT INTO u"+query)
			got, want := harness.RowsOf(t, s.Raw, "SELECT v FROM u ORDER BY v"), harness.RowsOf(t, s.Raw, "SELECT v FROM plain ORDER BY v")
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s: stored %q, want %q", query, got, want)
			}
			var refusal *keyfill.Error
			if _, err := db.Exec("INSERT INTO t" + query); err == nil || errors.As(err, &refusal) {
				t.Errorf("%s: %v, want the engine's error", query, err)
			}
		}
	})
}

// TestSelectCollation: SQLite looks for a collation where a query is read in another one.
//
//deviation:insert-select | An `INSERT … SELECT` whose query names an unknown collation is an error. The plain driver stores the values unless the query compares them. | SQLite | `INSERT INTO t (a) SELECT b COLLATE "C" FROM s` | leave the collation out
func TestSelectCollation(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)", "CREATE TABLE h (a TEXT)", "INSERT INTO h VALUES ('x')")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
		const query = "INSERT INTO t (a) SELECT a COLLATE nowhere FROM h"
		harness.Exec(t, s.Raw, query)
		if _, err := db.Exec(query); err == nil || !strings.Contains(err.Error(), "no such collation sequence") {
			t.Errorf("%s: %v", query, err)
		}
		harness.Exec(t, db, "INSERT INTO t (a) SELECT a COLLATE nocase FROM h")
	})
}

// TestSelectOtherBytes: a string that is not valid in utf8mb4 would be another one in the
// temporary table in which rows are numbered, so that it is refused.
func TestSelectOtherBytes(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, v VARBINARY(20))", "CREATE TABLE h (a INT)", "INSERT INTO h VALUES (1)")
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Transaction: policy.TransactionJoined}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
		if _, err := db.Exec("INSERT INTO t (v) SELECT 'x\xe9y' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM h WHERE a = 6)"); !errors.Is(err, rewrite.ErrSelectValues) {
			t.Errorf("a string of other bytes: %v", err)
		}
		harness.Exec(t, db, "INSERT INTO t (v) SELECT _binary'x\xe9y' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM h WHERE a = 6)")
		if got, want := harness.RowsOf(t, s.Raw, "SELECT HEX(v) FROM t"), harness.RowsOf(t, s.Raw, "SELECT '78E979'"); !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
	})
}

// TestSelectReadsLastKey: on SQLite a query of several rows that reads the last key of its
// connection is refused, since it would be another one in all rows but the first. One row
// stores what it stores without keyfill.
//
//deviation:insert-select | An `INSERT … SELECT` of several rows that reads `last_insert_rowid()` is refused; with UUIDs, an INSERT of one row too. While SQLite numbers rows, it computes a row before it stores the previous row. | SQLite | `INSERT INTO t (a) SELECT last_insert_rowid() FROM s` | read it in a statement before
func TestSelectReadsLastKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE p (id INTEGER PRIMARY KEY, a INT)", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT)",
			"CREATE TABLE u (id TEXT PRIMARY KEY, a INT)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1), (2)")
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 500}}, "u": {Column: "id"},
		}})
		conn := harness.ConnOf(t, db)
		defer conn.Close()
		harness.Must(t, conn, "INSERT INTO t (a) VALUES (0)", "DELETE FROM t", "INSERT INTO p VALUES (50, 1)")
		for _, text := range []string{
			"INSERT INTO t (a, b) SELECT a, last_insert_rowid() FROM s",
			"INSERT INTO u (a) SELECT last_insert_rowid() FROM s",
		} {
			_, err := conn.ExecContext(context.Background(), text)
			harness.RefusedFor(t, text, err, rewrite.ErrReadsKey)
		}
		harness.Must(t, conn, "INSERT INTO t (a, b) SELECT a, last_insert_rowid() FROM s WHERE a = 1")
		if got := harness.IntegersOf(t, s.Raw, "SELECT b FROM t"); len(got) != 1 || got[0] != 50 {
			t.Errorf("stored %v", got)
		}
	})
}
