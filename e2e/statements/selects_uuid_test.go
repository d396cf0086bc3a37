package statements_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// queryKeys are kinds of keys that keyfill and the engine make together for the rows of a
// query, and the types of a column for them.
var queryKeys = []struct {
	kind, prefix              string
	layout                    dialect.Layout
	mariadb, postgres, sqlite string
}{
	{policy.KindUUIDv7, "", dialect.SequentialAsString, "CHAR(36)", "UUID", "TEXT"},
	{policy.KindUUIDv7, "", dialect.SequentialAsString, "UUID", "VARCHAR(36)", "CHAR(36)"},
	{policy.KindUUIDv7, "", dialect.SequentialAsBinary, "BINARY(16)", "BYTEA", "BLOB"},
	{policy.KindUUIDv7, "", dialect.Swapped, "BINARY(16)", "BYTEA", "BLOB"},
	{policy.KindULID, "", dialect.SequentialAsString, "CHAR(26)", "TEXT", "TEXT"},
	{policy.KindULID, "", dialect.SequentialAsBinary, "BINARY(16)", "BYTEA", "BLOB"},
	{policy.KindCOMB, "", dialect.SequentialAsString, "CHAR(36)", "UUID", "TEXT"},
	{policy.KindCOMB, "", dialect.SequentialAsBinary, "BINARY(16)", "BYTEA", "BLOB"},
	{policy.KindUUIDv7, "cus", "", "VARCHAR(30)", "TEXT", "TEXT"},
	{policy.KindUUIDv7, "customers", "", "CHAR(36) CHARACTER SET latin1", "CHAR(36)", "VARCHAR(36)"},
	{policy.KindUUIDv7, "cus", dialect.SequentialAsString, "UUID", "UUID", "TEXT"},
}

// rowKeyCells are further cells, with what only a UUID is filled for.
var rowKeyCells = append(slices.Clone(selectCells), []selectCell{
	{name: "join", query: "INSERT INTO t (a, b) SELECT s.a, u.b FROM s JOIN u ON s.a <> u.a ORDER BY u.b, s.a"},
	{name: "subquery", query: "INSERT INTO t (a, b) SELECT x.a, (SELECT MAX(b) FROM u) FROM (SELECT a FROM s WHERE a IN (SELECT a FROM u)) x"},
	{name: "group and order", query: "INSERT INTO t (a, b) SELECT COUNT(*), b FROM s GROUP BY b ORDER BY COUNT(*) DESC"},
	{name: "three under union all", query: "INSERT INTO t (a, b) SELECT a, ? FROM s UNION ALL SELECT a, b FROM u WHERE a > ? UNION ALL SELECT 1, ? FROM u", args: []any{"x", 1, "y"}},
	{name: "a division", query: "INSERT INTO t (a, b) SELECT a, a / 3 FROM s"},
	{name: "a division under order", query: "INSERT INTO t (a, b) SELECT a, a / 3 FROM s ORDER BY a, b LIMIT 4"},
	{name: "a division under group", query: "INSERT INTO t (a, b) SELECT a, SUM(a) / 7 FROM s GROUP BY a"},
	{name: "a division under union all", query: "INSERT INTO t (a, b) SELECT a, a / 3.0 FROM s UNION ALL SELECT a, a / 7.0 FROM u", on: "mariadb sqlite"},
	{name: "of a view", query: "INSERT INTO t (a, b) SELECT a, b FROM third ORDER BY a DESC LIMIT 5"},
	{name: "hexadecimal", query: "INSERT INTO t (a, b) SELECT 0x41, b FROM s LIMIT 3", on: "mariadb sqlite"},
	{name: "rollup", query: "INSERT INTO t (a, b) SELECT COUNT(*), b FROM s GROUP BY b WITH ROLLUP", on: "mariadb"},
	{name: "window", query: "INSERT INTO t (a, b) SELECT ROW_NUMBER() OVER (ORDER BY b, a), b FROM s"},
	{name: "modifiers", query: "INSERT INTO t (a, b) (SELECT SQL_SMALL_RESULT a, b FROM s GROUP BY a, b)", on: "mariadb"},
}...)

// TestSelectUUID: the rows of an INSERT … SELECT get UUIDs without a count, the other
// columns hold what they hold without keyfill, and each key is one of the source's.
//
//deviation:insert-select | UUIDs, ULIDs and combs need no count: keyfill sends the common part of the keys and a random number, and the engine adds 1 for each row. No value of the query changes. | all | `INSERT INTO t (a) SELECT a FROM s` | name the key column
//deviation:insert-select | If MySQL or MariaDB sorts an `INSERT … SELECT` with UUIDs in a temporary table, as for a join or GROUP BY, the keys may not follow its ORDER BY. | MySQL, MariaDB | `INSERT INTO t (a) SELECT s.a FROM s JOIN u USING (n) ORDER BY s.a` | name the key column
func TestSelectUUID(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		harness.Exec(t, s.Raw, "CREATE VIEW third AS SELECT a, a / 3 AS b FROM s")
		test := t
		for _, k := range testturn.Some(t, queryKeys, 3) {
			typ := map[string]string{"mariadb": k.mariadb, "postgres": k.postgres, "sqlite": k.sqlite}[s.Dialect.Name]
			t.Run(k.kind+k.prefix+"/"+strings.ReplaceAll(typ, "/", ""), func(t *testing.T) {
				harness.Must(t, s.Raw, "DROP TABLE t", "CREATE TABLE t (id "+typ+" NOT NULL PRIMARY KEY, a INT, b VARCHAR(20), d DATE, e INT, f VARCHAR(20))")
				config := &policy.Config{Tables: map[string]policy.Table{"t": {
					Column: "id", Layout: k.layout, InPlace: &policy.Source{Kind: k.kind, Prefix: k.prefix},
				}}}
				db, _ := s.Open(test, config) // to close it would end a database in memory
				for _, c := range rowKeyCells {
					if c.on != "" && !strings.Contains(c.on, s.Dialect.Name) {
						continue
					}
					for _, form := range []string{"direct", "prepared", "transaction"} {
						t.Run(c.name+"/"+form, func(t *testing.T) { tryRowKeys(t, s, db, c, form, k.kind, k.layout, typ) })
					}
				}
				if k.layout != dialect.Swapped {
					rowKeysInOrder(t, s, db)
				}
			})
		}
	})
}

// tryRowKeys executes a cell twice, and beside it by the raw driver into t0.
func tryRowKeys(t *testing.T, s *harness.Scratch, db *sql.DB, c selectCell, form, kind string, layout dialect.Layout, typ string) {
	harness.Must(t, s.Raw, "DELETE FROM t", "DELETE FROM t0")
	query := s.Placeholders(c.query)
	plain := strings.NewReplacer("INTO t ", "INTO t0 ", "FROM t ", "FROM t0 ", "t.a", "t0.a").Replace(query)
	begun := time.Now()
	for range 2 {
		want, err := s.Raw.Exec(plain, c.args...)
		if err != nil {
			t.Fatalf("by hand: %v", err)
		}
		ctx, rec := keyfill.Record(context.Background())
		got, err := harness.SendOnce(ctx, db, form, query, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if n, m := affected(t, got), affected(t, want); n != m {
			t.Errorf("%d rows affected, want %d", n, m)
		}
		isRow := !strings.Contains(c.query, "FROM")
		if keys := rec.Keys("t"); len(keys) != 0 && !isRow && !strings.Contains(c.query, "(VALUES") {
			t.Errorf("%v are recorded, which nothing tells", keys)
		}
	}
	columns := "SELECT a, b, d, e, f FROM "
	got, want := harness.RowsOf(t, s.Raw, columns+"t ORDER BY a, b, d, e, f"), harness.RowsOf(t, s.Raw, columns+"t0 ORDER BY a, b, d, e, f")
	if !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	checkQueryKeys(t, s, kind, layout, typ, begun)
}

// checkQueryKeys compares the keys of t with what the kind promises.
func checkQueryKeys(t *testing.T, s *harness.Scratch, kind string, layout dialect.Layout, typ string, begun time.Time) {
	t.Helper()
	// pgx keeps the types of a text's columns.
	rows, err := s.Raw.Query("SELECT id FROM t /* " + typ + " */")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw any
		if err := rows.Scan(&raw); err != nil {
			t.Fatal(err)
		}
		if b, ok := raw.([]byte); ok && len(b) != 16 {
			raw = string(b)
		}
		var at time.Time
		switch key := raw.(type) {
		case string:
			at = rowKeyTime(t, key, kind)
		case []byte:
			id := [16]byte(key)
			if layout == dialect.Swapped {
				id = dialect.Unswap(id)
			}
			at = rowKeyTime(t, dialect.Text(id), kind)
		default:
			t.Fatalf("a key of type %T", raw)
		}
		if at.Before(begun.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("%v is of %v", raw, at)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// rowKeyTime returns the time of a key of a kind.
func rowKeyTime(t *testing.T, key, kind string) time.Time {
	t.Helper()
	readings, err := keysource.Inspect(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readings {
		// One comb in 64 has the marks of a UUIDv7 too.
		if (r.Kind == kind || kind != policy.KindUUIDv7) && time.Since(r.Time).Abs() < time.Hour {
			return r.Time
		}
	}
	t.Errorf("%s is no %s: %+v", key, kind, readings)
	return time.Now()
}

// rowKeysInOrder: keys of one table's rows sort as ORDER BY does.
func rowKeysInOrder(t *testing.T, s *harness.Scratch, db *sql.DB) {
	harness.Exec(t, s.Raw, "DELETE FROM t")
	harness.Exec(t, db, "INSERT INTO t (a, b) SELECT a, b FROM s ORDER BY a DESC")
	harness.Exec(t, db, "INSERT INTO t (a, b) SELECT a - 10, b FROM s ORDER BY a DESC")
	if got := harness.IntegersOf(t, s.Raw, "SELECT a FROM t ORDER BY id"); !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) {
		t.Errorf("in the order of the keys: %d", got)
	}
}

// TestSelectUUIDRefused: what may store another value, or would give replicas other keys,
// is refused, and nothing is stored.
//
//deviation:insert-select | With DISTINCT, UNION, EXCEPT, INTERSECT or ROLLUP the rows are numbered in a temporary table, which changes some values (`1/3`, `0x41`, a sum of times). The INSERT is filled if each item is a column, literal, CAST or tested function, and no view is read. | MySQL, MariaDB | `INSERT INTO t (a) SELECT DISTINCT b / 3 FROM s` | `CAST(b / 3 AS DECIMAL(20,10))`
func TestSelectUUIDRefused(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	createSelectTables(t, s)
	harness.Must(t, s.Raw, "DROP TABLE t", "CREATE TABLE t (id UUID PRIMARY KEY, a INT, b VARCHAR(20), d DATE)",
		"CREATE VIEW third AS SELECT a, a / 3 AS b FROM s", "CREATE VIEW `it's` AS SELECT a, b FROM s")
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}))
	for _, query := range []string{
		"SELECT DISTINCT a, a / 3 FROM s", "SELECT a, a / 3 FROM s UNION SELECT a, b FROM u", "SELECT DISTINCT a, b FROM third",
		"SELECT DISTINCT x.a, x.b FROM s y JOIN `it's` x ON x.a = y.a", "SELECT DISTINCT a, b FROM (SELECT a, SUM(a) AS b FROM s GROUP BY a) x",
		"SELECT a, b FROM third UNION SELECT a, b FROM u", "SELECT a, AVG(a) FROM s GROUP BY a WITH ROLLUP",
	} {
		_, err := db.Exec("INSERT INTO t (a, b) " + query)
		harness.RefusedFor(t, query, err, rewrite.ErrSelectValues)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
		t.Errorf("%d rows", n)
	}
	harness.Exec(t, db, "INSERT INTO t (a, b) SELECT DISTINCT a, CAST(a / 3 AS CHAR) FROM s")
	_, err := db.Exec("INSERT INTO t (a, b) SELECT ROW_COUNT(), b FROM s")
	harness.RefusedFor(t, "the question for the log would change ROW_COUNT()", err, rewrite.ErrReadsCount)
}
