package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// selectCell is an INSERT whose rows come from a query. INTO is for the table,
// with its column list where there is one.
type selectCell struct {
	name  string
	query string
	args  []any
	on    string // the names of dialects, empty for all

	doubtful bool // MariaDB may not number it by ROW_NUMBER()
}

// selectCells are queries over s (a, b, d), which has six rows, two of them
// alike, and u (a, b), which has two.
var selectCells = []selectCell{
	{name: "all rows", query: "INSERT INTO t (a, b, d) SELECT a, b, d FROM s"},
	{name: "no rows", query: "INSERT INTO t (a, b, d) SELECT a, b, d FROM s WHERE a < 0"},
	{name: "star", query: "INSERT INTO t (a, b, d) SELECT * FROM s"},
	{name: "stars with like names", query: "INSERT INTO t (a, b, d, e, f) SELECT * FROM s JOIN u ON u.a = s.a"},
	{name: "distinct", query: "INSERT INTO t (a, b) SELECT DISTINCT a, b FROM s"},
	{name: "group", query: "INSERT INTO t (a, b) SELECT MIN(a), b FROM s GROUP BY b HAVING COUNT(*) > 1"},
	{name: "union", query: "INSERT INTO t (a, b) SELECT a, b FROM s UNION SELECT a, b FROM u"},
	{name: "union all", query: "INSERT INTO t (a, b) SELECT a, b FROM s UNION ALL SELECT a, b FROM u"},
	{name: "limit", query: "INSERT INTO t (a, b) SELECT a, b FROM s ORDER BY a DESC, b LIMIT 3"},
	{name: "with inside", query: "INSERT INTO t (a, b) WITH x (p, q) AS (SELECT a, b FROM s WHERE a > 1) SELECT p, q FROM x"},
	{name: "with in front", query: "WITH x (p, q) AS (SELECT a, b FROM s WHERE a > 1) INSERT INTO t (a, b) SELECT p, q FROM x", on: "postgres sqlite"},
	{name: "with on both sides", query: "WITH x (p) AS (SELECT a FROM s) INSERT INTO t (a) WITH y (q) AS (SELECT p FROM x WHERE p > 2) SELECT q FROM y", on: "postgres sqlite"},
	{name: "recursive", query: "INSERT INTO t (a) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n", doubtful: true},
	{name: "brackets", query: "INSERT INTO t (a, b) (SELECT a, b FROM s)", on: "mariadb postgres"},
	{name: "brackets behind a union", query: "WITH m AS (SELECT 1 UNION SELECT 2) INSERT INTO t (a, d) (SELECT 1, '2026-01-01' FROM s)", on: "postgres"},
	{name: "with in brackets", query: "INSERT INTO t (a, d) (WITH x AS (SELECT 1 UNION SELECT 2) SELECT ?, '2026-01-01' FROM s)", args: []any{4}, on: "postgres"},
	{name: "from itself", query: "INSERT INTO t (a, b) SELECT a, b FROM t UNION ALL SELECT a, b FROM s"},
	{name: "literals", query: "INSERT INTO t (a, b, d) SELECT 7, 'x', NULL FROM s"},
	{name: "literal of the column's type", query: "INSERT INTO t (a, d) SELECT a, '2020-02-03' FROM s"},
	{name: "literals of the columns' types", query: "INSERT INTO t (d, a, b) SELECT '2020-02-03' AS d, '12', NULL"},
	{name: "arguments", query: "INSERT INTO t (a, b) SELECT a, ? FROM s WHERE a > ?", args: []any{"arg", 1}},
	{name: "arguments of the columns' types", query: "INSERT INTO t (a, b, d) SELECT ?, ?, ? FROM s WHERE a > ?", args: []any{41, "arg", "2020-02-03", 1}},
	{name: "arguments in a WITH", query: "INSERT INTO t (a, b) WITH x (p, q) AS (SELECT a, b FROM s WHERE a > ?) SELECT p, q FROM x WHERE p < ?", args: []any{1, 3}},
	{name: "one that is not there", query: "INSERT INTO t (a, b) SELECT ?, ? FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = ?) LIMIT 1", args: []any{5, "arg", 5}},
	{name: "on conflict", query: "INSERT INTO t (a, b) SELECT a, b FROM s WHERE true ON CONFLICT DO NOTHING", on: "postgres sqlite"},
	{name: "on conflict with an argument", query: "INSERT INTO t (a, b) SELECT a, ? FROM s WHERE true ON CONFLICT (id) DO UPDATE SET b = ?", args: []any{"p", "q"}, on: "postgres sqlite"},
	{name: "on duplicate key", query: "INSERT INTO t (a, b) SELECT a, ? FROM s ON DUPLICATE KEY UPDATE b = ?", args: []any{"p", "q"}, on: "mariadb"},
	{name: "ignore", query: "INSERT IGNORE INTO t (a, b) SELECT a, b FROM s", on: "mariadb"},
	{name: "replace", query: "REPLACE INTO t (a, b) SELECT a, b FROM s", on: "mariadb sqlite"},
	{name: "values in brackets", query: "INSERT INTO t (a, d) (VALUES (1, '2020-02-03'), (2, NULL))", on: "postgres"},
	{name: "table", query: "INSERT INTO t (a, b) TABLE u", on: "postgres"},
	{name: "locking", query: "INSERT INTO t (a, b) SELECT a, b FROM s FOR UPDATE", on: "postgres mariadb"},
	{name: "comments", query: "/* 1 */ INSERT INTO t (a, b) -- 2\n SELECT /* 3 */ a, b -- 4\n FROM s -- 5"},
}

// TestSelect: the rows of an INSERT … SELECT are those that the query gives, on
// every path, and each has a key of its own; the keys are consecutive.
func TestSelect(t *testing.T) {
	t.Parallel()
	for kind, source := range map[string]policy.Source{
		"sequence":  {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true},
		"snowflake": {Kind: policy.KindSnowflake, Worker: new(7), EnsureSchema: true, Exclusive: true},
	} {
		t.Run(kind, func(t *testing.T) {
			on := harness.Engines
			if kind == "snowflake" {
				on = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}
			}
			harness.Each(t, on, func(t *testing.T, s *harness.Scratch) {
				eachSelectKey(t, s, func(t *testing.T) {
					db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
					for _, c := range selectCells {
						if c.on != "" && !strings.Contains(c.on, s.Dialect.Name) {
							continue
						}
						for _, form := range []string{"direct", "prepared", "transaction"} {
							t.Run(c.name+"/"+form, func(t *testing.T) { trySelect(t, s, db, c, form) })
						}
					}
				})
			})
		})
	}
}

// createSelectTables makes the tables of selectCells, and t0, which is t as it is
// without keyfill.
func createSelectTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	columns := "a INT, b VARCHAR(20), d DATE, e INT, f VARCHAR(20))"
	for _, query := range []string{
		"CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, " + columns,
		"CREATE TABLE t0 (id BIGINT UNIQUE, " + columns,
		"CREATE TABLE s (a INT, b VARCHAR(20), d DATE)",
		"CREATE TABLE u (a INT, b VARCHAR(20))",
		"INSERT INTO s VALUES (1, 'a', '2021-01-01'), (2, 'b', NULL), (2, 'b', NULL), (3, 'c', '2023-03-03'), (4, NULL, NULL), (5, 'a', NULL)",
		"INSERT INTO u VALUES (2, 'b'), (9, 'z')",
	} {
		harness.Exec(t, s.Raw, query)
	}
}

// eachSelectKey runs a test with the tables of selectCells, on MariaDB also with an
// AUTO_INCREMENT key, so that the engine numbers its rows.
func eachSelectKey(t *testing.T, s *harness.Scratch, test func(t *testing.T)) {
	t.Helper()
	createSelectTables(t, s)
	if s.Dialect.Name != "mariadb" {
		test(t)
		return
	}
	for _, key := range testturn.Some(t, []string{"BIGINT NOT NULL", "BIGINT NOT NULL AUTO_INCREMENT"}, 2) {
		t.Run(key, func(t *testing.T) {
			harness.Exec(t, s.Raw, "ALTER TABLE t MODIFY id "+key)
			test(t)
		})
	}
}

// trySelect executes a cell twice, and beside it by the raw driver into t0.
func trySelect(t *testing.T, s *harness.Scratch, db *sql.DB, c selectCell, form string) {
	harness.Exec(t, s.Raw, "DELETE FROM t")
	harness.Exec(t, s.Raw, "DELETE FROM t0")
	query := s.Placeholders(c.query)
	plain := strings.NewReplacer("INTO t ", "INTO t0 ", "FROM t ", "FROM t0 ", "t.a", "t0.a").Replace(query)
	ctx, rec := keyfill.Record(context.Background())
	for range 2 {
		want, err := s.Raw.Exec(plain, c.args...)
		if err != nil {
			t.Fatalf("by hand: %v", err)
		}
		got, err := harness.SendOnce(ctx, db, form, query, c.args)
		if c.doubtful && s.Dialect.Name == "mariadb" && errors.Is(err, rewrite.ErrSelectValues) && !strings.Contains(t.Name(), "AUTO_INCREMENT") {
			return // it is not known whether the value changes in a temporary table
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, m := affected(t, got), affected(t, want); n != m {
			t.Errorf("%d rows affected, want %d", n, m)
		}
	}
	columns := "SELECT a, b, d, e, f FROM "
	got, want := harness.RowsOf(t, s.Raw, columns+"t ORDER BY a, b, d, e, f"), harness.RowsOf(t, s.Raw, columns+"t0 ORDER BY a, b, d, e, f")
	if !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	var ids []int64
	for _, k := range rec.Keys("t") {
		if k.Outcome == keyfill.NotStored {
			t.Errorf("row %d is %v", k.Row, k.Outcome)
		}
		if id, ok := k.Key.(int64); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	stored := idsOf(t, s.Raw)
	if strings.Contains(c.query, "(VALUES") {
		return
	}
	if len(stored) != len(want) || !slices.Equal(ids, stored) {
		t.Errorf("stored the keys %d, recorded %d", stored, ids)
	}
}

func affected(t *testing.T, res sql.Result) int64 {
	t.Helper()
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// idsOf returns the keys in t, in their order.
func idsOf(t *testing.T, db *sql.DB) []int64 {
	t.Helper()
	return harness.IntegersOf(t, db, "SELECT id FROM t ORDER BY id")
}

// TestSelectReturning: the rows of RETURNING are the engine's, and the keys in
// them are known to be stored.
//
//deviation:insert-select | After an `INSERT … SELECT`, `Record` calls each key unknown that RETURNING or OUTPUT has not shown. | all | – | RETURNING
func TestSelectReturning(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		for _, form := range []string{"direct", "transaction"} {
			ctx, rec := keyfill.Record(context.Background())
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			var rows *sql.Rows
			query := s.Placeholders("INSERT INTO t (a, b) SELECT a, ? FROM s RETURNING id")
			if form == "direct" {
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				rows, err = db.QueryContext(ctx, query, "x")
			} else {
				rows, err = tx.QueryContext(ctx, query, "x")
			}
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; rows.Next(); n++ {
				var id int64
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
			}
			if err := rows.Err(); err != nil || n != 6 {
				t.Fatalf("%s: %d rows, %v", form, n, err)
			}
			rows.Close()
			if form == "transaction" {
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			keys := rec.Keys("t")
			for _, k := range keys {
				if k.Outcome != keyfill.Stored {
					t.Errorf("%s: row %d is %v", form, k.Row, k.Outcome)
				}
			}
			if len(keys) != 6 {
				t.Errorf("%s: %d keys", form, len(keys))
			}
		}
		if n := len(idsOf(t, s.Raw)); n != 12 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestSelectRefused: an INSERT … SELECT that cannot be numbered exactly is an
// error, and nothing is sent.
func TestSelectRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Without18([]harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}), func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"t":  {Column: "id", InPlace: source},
			"t0": {Column: "id", Layout: dialect.SequentialAsBinary, InPlace: &policy.Source{Kind: policy.KindUUIDv4}},
		}})
		for query, want := range map[string]error{
			"INSERT INTO t0 (a) SELECT a FROM s":   rewrite.ErrSelect,
			"INSERT INTO t (a, b) SELECT a FROM s": rewrite.ErrColumnCount,
			"WITH RECURSIVE i AS (INSERT INTO t (a) SELECT a FROM x RETURNING id), x AS (DELETE FROM u RETURNING a) SELECT 1": rewrite.ErrSelectForm,
			"INSERT INTO t (a, b) SELECT a, @n := @n + 1 FROM s":                                                              rewrite.ErrSelectForm,
			"INSERT INTO t (a, b, d, e) SELECT s.*, '7' FROM s":                                                               rewrite.ErrSelectForm,
			"INSERT INTO t (a, b) SELECT a, ROW_COUNT() FROM s":                                                               rewrite.ErrReadsCount,
		} {
			d := s.Dialect.Name
			if strings.Contains(query, ":=") != (d == "mariadb") && strings.Contains(query, ":=") ||
				strings.Contains(query, "ROW_COUNT") && d != "mariadb" ||
				(strings.Contains(query, "DELETE") || strings.Contains(query, "s.*")) && d != "postgres" {
				continue
			}
			if _, err := db.Exec(query); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", query, err, want)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
			t.Errorf("%d rows", n)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM u"); n != 2 {
			t.Errorf("%d rows in u", n)
		}
	})
}

// TestSelectFunction: UUIDs for the rows of a query are made by a function of the
// server that makes this kind, where it has one.
//
//deviation:insert-select | For UUIDs the server's version is asked once. `dry_run` asks nothing and calls an `INSERT … SELECT` refused. | MariaDB, PostgreSQL | `SELECT VERSION()` | name the key column
func TestSelectFunction(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.MySQLDefault, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		for _, column := range []string{"t", "u"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+column+" (id VARCHAR(36) NOT NULL PRIMARY KEY, a INT, b VARCHAR(20))")
		}
		harness.Exec(t, s.Raw, "CREATE TABLE s (a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO s VALUES (1), (2), (3)")
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, "ALTER TABLE u ALTER id TYPE UUID USING id::uuid")
		}
		db, m := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv4}},
			"u": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv4}},
			"s": {Column: "a"}, // a version 7, which PostgreSQL makes from 18 on
			"v": {Column: "id"},
		}})
		if s.Server == harness.PostgreSQL18 { // it has uuidv7()
			harness.Exec(t, s.Raw, "CREATE TABLE v (id UUID PRIMARY KEY, a INT)")
			harness.Exec(t, db, "INSERT INTO v (a) SELECT a FROM s")
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM v WHERE substr(id::text, 15, 1) = '7'"); n != 3 {
				t.Errorf("%d rows with a UUID of version 7, want 3", n)
			}
		}
		for _, table := range []string{"t", "u"} {
			query := s.Placeholders("INSERT INTO " + table + " (a, b) SELECT a, ? FROM s")
			if !s.IsPostgres() {
				if _, err := db.Exec(query, "x"); !errors.Is(err, rewrite.ErrSelect) {
					t.Errorf("a UUID of version 4: %v", err)
				}
				continue
			}
			for _, form := range []string{"direct", "prepared", "transaction"} {
				ctx, rec := keyfill.Record(context.Background())
				if _, err := harness.SendOnce(ctx, db, form, query, []any{"x"}); err != nil {
					t.Fatal(err)
				}
				if keys := rec.Keys(table); len(keys) != 0 {
					t.Errorf("%v is recorded, which nobody has told", keys)
				}
			}
			ctx, rec := keyfill.Record(context.Background())
			rows, err := db.QueryContext(ctx, query+" RETURNING id", "x")
			if err != nil {
				t.Fatal(err)
			}
			var ids []any
			for rows.Next() {
				var id uuid.UUID
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				if id.Version() != 4 {
					t.Errorf("%v is no version 4", id)
				}
				ids = append(ids, id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			var recorded []any
			for _, k := range rec.Keys(table) {
				if k.Outcome == keyfill.Stored {
					recorded = append(recorded, k.Key)
				}
			}
			if len(ids) != 3 || !slices.Equal(recorded, ids) {
				t.Errorf("RETURNING gave %v, recorded are %v", ids, recorded)
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM "+table); n != 12 {
				t.Errorf("%d keys", n)
			}
			if n := m.Stats().Tables[table].Filled; n != 4 {
				t.Errorf("%d statements are counted", n)
			}
		}
	})
}

// TestSelectUnlisted: without a column list the columns are asked for and written
// into the statement; a query that gives the key keeps it.
func TestSelectUnlisted(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (a INT, b VARCHAR(20), id BIGINT PRIMARY KEY, d VARCHAR(20))")
		harness.Exec(t, s.Raw, "CREATE TABLE s (x INT, y VARCHAR(20))")
		harness.Exec(t, s.Raw, "INSERT INTO s VALUES (1, 'p'), (2, 'q')")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 100}}))
		harness.Exec(t, db, "INSERT INTO t SELECT x, y, x, y FROM s")
		if got, want := harness.RowsOf(t, s.Raw, "SELECT id FROM t ORDER BY id"), []string{"[{1 true}]", "[{2 true}]"}; !slices.Equal(got, want) {
			t.Errorf("keys of the query: %q, want %q", got, want)
		}
		harness.Exec(t, s.Raw, "DELETE FROM t")
		_, err := db.Exec("INSERT INTO t SELECT x, y FROM s")
		if !s.IsPostgres() {
			if !errors.Is(err, rewrite.ErrColumnCount) {
				t.Errorf("fewer values than columns: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"[{1 true} {p true} {100 true}]", "[{2 true} {q true} {101 true}]"}
		if got := harness.RowsOf(t, s.Raw, "SELECT a, b, id FROM t ORDER BY a"); !slices.Equal(got, want) {
			t.Errorf("the first columns: %q, want %q", got, want)
		}
		if _, err := db.Exec("INSERT INTO t SELECT s.* FROM s"); !errors.Is(err, rewrite.ErrColumnCount) {
			t.Errorf("a number of values that is not known: %v", err)
		}
	})
}
