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
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// rowValue is an expression that stands in a select list, with its arguments.
type rowValue struct {
	text string
	args []any
	on   string // the names of dialects, empty for all
	own  bool   // it calls a function of the application: the engine numbers the rows where it can
}

// rowValues are one value each. The engines give them types of their own, which may be
// others where a SELECT is read again through a table, a WITH clause or a UNION.
var rowValues = []rowValue{
	{text: "'x'"}, {text: "''"}, {text: "NULL"}, {text: "'7'"}, {text: "-7"}, {text: "1.5"}, {text: "1e3"}, {text: "'2026-01-02'"},
	{text: "?", args: []any{"7"}},
	{text: "?", args: []any{nil}},
	{text: "1/3.0"}, {text: "10/4"}, {text: "UPPER('é')"}, {text: "LENGTH('abc')"}, {text: "COALESCE(NULL, 'z')"},
	{text: "CASE WHEN 1 = 1 THEN 'p' ELSE 'q' END"},
	{text: "(SELECT MAX(a) FROM u)"}, {text: "(SELECT b FROM u WHERE a = 2)"},
	{text: "COUNT(*)"}, {text: "MAX('m')"},
	{text: "CAST(? AS CHAR(9))", args: []any{"8"}},
	{text: "1/3", on: "mariadb"}, {text: "0x41", on: "mariadb"}, {text: "x'4142'", on: "mariadb sqlite"}, {text: "b'1000001'", on: "mariadb"},
	{text: "IF(1, 1.5, 2)", on: "mariadb"}, {text: "PI()", on: "mariadb"}, {text: "CURRENT_DATE", on: "mariadb postgres sqlite"},
	{text: "_latin1'\\xe9'", on: "mariadb"}, {text: "CAST(1/3 AS DECIMAL(20, 10))", on: "mariadb"}, {text: "@@version_comment = 'x'", on: "mariadb"},
	{text: "LAST_INSERT_ID()", on: "mariadb"}, {text: "CONNECTION_ID() * 0 + 0.25", on: "mariadb"}, {text: "TIME'10:11:12'", on: "mariadb"},
	{text: "EXISTS (SELECT 1 FROM u)", on: "mariadb sqlite"},
	{text: "lower('X')", on: "postgres"}, {text: "'a' || 'b'", on: "postgres sqlite"}, {text: "(ROW(3, 'z')::pair).y", on: "postgres"},
	{text: "shout('x')", on: "postgres", own: true}, {text: "CURRENT_DATE + 1", on: "postgres"}, {text: "ARRAY[1, 2]::text", on: "postgres"},
	{text: "?::jsonb ->> 'k'", args: []any{`{"k": "v"}`}, on: "postgres"}, {text: "EXTRACT(day FROM DATE '2026-01-02')", on: "postgres"},
	{text: "3::numeric(9, 2)", on: "postgres"}, {text: "DATE '2026-01-02'", on: "postgres"}, {text: "'x' COLLATE \"C\"", on: "postgres"},
	{text: "typeof(1)", on: "sqlite"}, {text: "printf('%d', 3)", on: "sqlite"}, {text: "date('2026-01-01')", on: "sqlite"}, {text: "1 = 1", on: "sqlite postgres"},
}

// rowShape is a query that is made of rows. % stands for the value, {v} for its column.
type rowShape struct {
	name, text  string
	front, back []any // the arguments before the first value and after the last one
	on          string
}

var rowShapes = []rowShape{
	{name: "plain", text: "INSERT INTO t ({v}) SELECT %"},
	{name: "alias", text: "INSERT INTO t ({v}) SELECT % AS v"},
	{name: "not there", text: "INSERT INTO t ({v}, w) SELECT %, 1 WHERE NOT EXISTS (SELECT 1 FROM t WHERE w = ?)", back: []any{1}},
	{name: "there", text: "INSERT INTO t ({v}, w) SELECT %, 1 WHERE EXISTS (SELECT 1 FROM t WHERE w = ?)", back: []any{1}},
	{name: "arguments around", text: "INSERT INTO t (x, {v}, w) SELECT ?, %, ? WHERE 1 = 1", front: []any{"front"}, back: []any{5}},
	{name: "union all", text: "INSERT INTO t ({v}, w) SELECT %, 1 UNION ALL SELECT %, 2 WHERE 1 = 1"},
	{name: "union all, not all", text: "INSERT INTO t ({v}, w) SELECT %, 1 UNION ALL SELECT %, 2 WHERE 1 = 0"},
	{name: "union all, not the first", text: "INSERT INTO t ({v}, w) SELECT %, 1 WHERE 1 = 0 UNION ALL SELECT %, 2"},
	{name: "limit", text: "INSERT INTO t (w, {v}) SELECT 1, % ORDER BY 1 LIMIT 1"},
	{name: "with", text: "INSERT INTO t ({v}) WITH q AS (SELECT 1 AS a) SELECT % WHERE EXISTS (SELECT 1 FROM q)"},
	{name: "with in front", text: "WITH q AS (SELECT 1 AS a UNION SELECT 2) INSERT INTO t ({v}) SELECT % WHERE EXISTS (SELECT 1 FROM q)", on: "postgres sqlite"},
	{name: "brackets", text: "INSERT INTO t ({v}) (SELECT % WHERE 1 = 1)", on: "mariadb postgres"},
	{name: "dual", text: "INSERT INTO t ({v}, w) SELECT %, 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM t WHERE w = ?) LIMIT 1", back: []any{1}, on: "mariadb"},
	{name: "dual, union all", text: "INSERT INTO t ({v}, w) SELECT %, 1 FROM DUAL UNION ALL SELECT %, 2 FROM DUAL", on: "mariadb"},
	{name: "ignore", text: "INSERT IGNORE INTO t ({v}) SELECT % WHERE 1 = 1", on: "mariadb"},
	{name: "duplicate key", text: "INSERT INTO t ({v}) SELECT % WHERE 1 = 1 ON DUPLICATE KEY UPDATE w = 3", on: "mariadb"},
	{name: "conflict", text: "INSERT INTO t ({v}) SELECT % WHERE 1 = 1 ON CONFLICT DO NOTHING", on: "postgres sqlite"},
	{name: "no list", text: "INSERT INTO t SELECT %, 4 WHERE 1 = 1", on: "postgres"},
}

// rowKeys are the sources and the columns of their keys, by dialect.
var rowKeys = map[string][]struct {
	name, column string
	rule         policy.Table
}{
	"mariadb": {
		{"uuid", "CHAR(36)", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}},
		{"bytes", "BINARY(16)", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}, Layout: dialect.SequentialAsBinary}},
		{"sequence", "BIGINT", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}},
		{"ulid", "CHAR(26)", policy.Table{InPlace: &policy.Source{Kind: policy.KindULID}}},
		{"typeid", "VARCHAR(30)", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "cus"}}},
	},
	"postgres": {
		{"uuid", "UUID", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}},
		{"uuid in text", "TEXT", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}},
		{"bytes", "BYTEA", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}, Layout: dialect.SequentialAsBinary}},
		{"sequence", "BIGINT", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}},
		{"snowflake", "NUMERIC(20)", policy.Table{InPlace: &policy.Source{Kind: policy.KindSnowflake, Worker: new(7), EnsureSchema: true}}},
		{"ulid", "VARCHAR(26)", policy.Table{InPlace: &policy.Source{Kind: policy.KindULID}}},
		{"typeid", "VARCHAR(30)", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "cus"}}},
	},
	"sqlite": {
		{"uuid", "TEXT", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv4}}},
		{"bytes", "BLOB", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}, Layout: dialect.SequentialAsBinary}},
		{"sequence", "INTEGER", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}},
	},
}

// rowTypes are types of the column v, by dialect.
var rowTypes = map[string][]string{
	"mariadb":  {"VARCHAR(40)", "DECIMAL(20,12)", "DOUBLE", "VARBINARY(40)", "DATE"},
	"postgres": {"TEXT", "NUMERIC", "DOUBLE PRECISION", "INTEGER", "DATE"},
	"sqlite":   {"TEXT", "NUMERIC", "BLOB"},
}

// TestSelectRows: SELECTs without FROM store what the plain driver stores for them, each
// row with a key of its own, and what Record says of the keys is true. Every value stands
// in every shape, and the types of its column take turns.
//
//deviation:insert-select | A key of 16 bytes in a select list is written `CAST(? AS BINARY(16))`, since UNION ALL would store other bytes. On PostgreSQL a key under UNION ALL is cast to the type of its source. | MySQL, MariaDB, PostgreSQL | `SELECT 1 UNION ALL SELECT 2` | –
func TestSelectRows(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.Engines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			types := rowTypes[e.Dialect.Name]
			for _, key := range testturn.Some(t, rowKeys[e.Dialect.Name], 3) {
				t.Run(key.name, func(t *testing.T) {
					t.Parallel()
					s := e.Scratch(t)
					if s.IsPostgres() {
						harness.Must(t, s.Raw, "CREATE TYPE pair AS (x int, y text)",
							"CREATE FUNCTION shout(t text) RETURNS text LANGUAGE sql AS 'SELECT upper(t)'")
					}
					first := testturn.One(t, []int{0, 1, 2, 3, 4})
					createRowTables(t, s, key.column, types)
					db, _ := s.Open(t, harness.FillID("t", key.rule))
					for i, v := range rowValues {
						for j, shape := range rowShapes {
							if isOn(v.on, s) && isOn(shape.on, s) {
								column := fmt.Sprintf("v%d", (first+i+j)%len(types))
								tryRows(t, s, db, column, v, shape, []string{"direct", "prepared"}[(i+j/2)%2])
							}
						}
					}
				})
			}
		})
	}
}

// isOn reports whether a list of dialects holds a database's.
func isOn(names string, s *harness.Scratch) bool {
	return names == "" || slices.Contains(strings.Fields(names), s.Dialect.Name)
}

// createRowTables makes t, which is filled, and t0, which the plain driver fills. They
// have a column of each of the types.
func createRowTables(t *testing.T, s *harness.Scratch, key string, types []string) {
	t.Helper()
	columns := " (v0 " + types[0] + ", w INT, x VARCHAR(40)"
	for i, kind := range types[1:] {
		columns += fmt.Sprintf(", v%d %s", i+1, kind)
	}
	harness.Must(t, s.Raw, "CREATE TABLE t"+columns+", id "+key+" PRIMARY KEY)", "CREATE TABLE t0"+columns+", id VARCHAR(40))",
		"CREATE TABLE u (a INT, b VARCHAR(20))", "INSERT INTO u VALUES (2, 'b'), (9, 'z')")
}

// tryRows executes a shape with a value in a form, and by the plain driver.
func tryRows(t *testing.T, s *harness.Scratch, db *sql.DB, column string, v rowValue, shape rowShape, form string) {
	t.Helper()
	n := strings.Count(shape.text, "%")
	args := slices.Concat(shape.front, slices.Repeat(v.args, n), shape.back)
	text := strings.NewReplacer("%", v.text, "{v}", column).Replace(shape.text)
	query, plain := s.Placeholders(text), s.Placeholders(strings.NewReplacer("INTO t ", "INTO t0 ", "FROM t ", "FROM t0 ").Replace(text))
	harness.Exec(t, s.Raw, "DELETE FROM t")
	harness.Exec(t, s.Raw, "DELETE FROM t0")
	what := fmt.Sprintf("%s, %s, %s: %s %v", column, shape.name, form, text, args)
	ctx, rec := keyfill.Record(context.Background())
	want, failed := harness.SendOnce(ctx, s.Raw, form, plain, args)
	got, err := harness.SendOnce(ctx, db, form, query, args)
	var refused *keyfill.Error
	switch {
	case errors.As(err, &refused):
		t.Errorf("%s: %v", what, err)
		return
	case (err == nil) != (failed == nil):
		t.Errorf("%s: %v, but the plain driver says %v", what, err, failed)
		return
	case err == nil && affected(t, got) != affected(t, want):
		t.Errorf("%s: %d rows affected, want %d", what, affected(t, got), affected(t, want))
	}

	columns := "v0, w, x, " + column
	stored, wanted := harness.RowsOf(t, s.Raw, "SELECT "+columns+" FROM t ORDER BY w"), harness.RowsOf(t, s.Raw, "SELECT "+columns+" FROM t0 ORDER BY w")
	if !slices.Equal(stored, wanted) {
		t.Errorf("%s: stored %q, want %q", what, stored, wanted)
	}
	checkRowKeys(t, s, what, rec, len(wanted), v.own)
}

// checkRowKeys compares what Record says of the keys with those that are stored. It need
// not know of keys that the engine may have numbered.
func checkRowKeys(t *testing.T, s *harness.Scratch, what string, rec *keyfill.Recorder, rows int, numbered bool) {
	t.Helper()
	var stored []string
	for _, id := range harness.RowsOf(t, s.Raw, "SELECT id FROM t") {
		id = strings.TrimSuffix(strings.TrimPrefix(id, "[{"), " true}]")
		stored = append(stored, plainKey(id))
	}
	told := 0
	for _, k := range rec.Keys("t") {
		key := plainKey(fmt.Sprint(k.Key))
		switch is := slices.Contains(stored, key); {
		case k.Outcome == keyfill.Stored && is, k.Outcome == keyfill.Unknown && is && numbered:
			told++
		case k.Outcome == keyfill.Stored, k.Outcome == keyfill.NotStored && is:
			t.Errorf("%s: the key %v is %v, but the table has %q", what, k.Key, k.Outcome, stored)
		}
	}
	if told != rows || len(stored) != rows {
		t.Errorf("%s: %d rows are stored with the keys %q, and Record tells %v", what, rows, stored, rec.Keys("t"))
	}
}

// plainKey returns a key in the form that both its bytes and its text have.
func plainKey(key string) string {
	if len(key) == 16 {
		return fmt.Sprintf("%x", key)
	}
	return strings.ToLower(strings.ReplaceAll(key, "-", ""))
}

// TestSelectRowLeftOut: a row that its condition leaves out is not stored, says Record, and
// LastInsertId is 0. Its key is a gap, and RETURNING gives none.
//
//deviation:insert-select | A SELECT without FROM takes a key even if its condition stores no row: the number is a gap. | all | `INSERT INTO t (a) SELECT 1 WHERE NOT EXISTS (…)` | look for the row first
func TestSelectRowLeftOut(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source, LastInsertID: policy.LastInsertIDResult}))
		query := s.Placeholders("INSERT INTO t (a) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM t WHERE a = ?)")
		var keys []int64
		for i, want := range []struct {
			value   int
			outcome keyfill.Outcome
		}{{1, keyfill.Stored}, {1, keyfill.NotStored}, {2, keyfill.Stored}} {
			ctx, rec := keyfill.Record(context.Background())
			res, err := db.ExecContext(ctx, query, want.value, want.value)
			if err != nil {
				t.Fatal(err)
			}
			key := rec.Keys("t")[0]
			id, err := res.LastInsertId()
			stored := key.Key.(int64)
			keys = append(keys, stored)
			if want.outcome == keyfill.NotStored {
				stored = 0
			}
			if err != nil || id != stored || key.Outcome != want.outcome {
				t.Errorf("%d: LastInsertId is %d, %v; Record tells %v of %v; want %v", i, id, err, key.Outcome, key.Key, want.outcome)
			}
		}
		if keys[1] != keys[0]+1 || keys[2] != keys[1]+1 {
			t.Errorf("the keys are %v", keys)
		}
		ctx, rec := keyfill.Record(context.Background())
		rows, err := db.QueryContext(ctx, query+" RETURNING id", 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			t.Error("RETURNING gives a row that is not stored")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if k := rec.Keys("t")[0]; k.Outcome != keyfill.NotStored {
			t.Errorf("behind RETURNING Record tells %v", k.Outcome)
		}
	})
}

// TestSelectRowsJoined: SELECTs without FROM have numbers without gaps where the source
// gives them in the INSERT's transaction. One with a condition that stores no row takes
// no number, whether it is refused or not.
func TestSelectRowsJoined(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		source := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
		for i, form := range []string{"direct", "transaction"} {
			for _, query := range []string{
				"INSERT INTO t (a) SELECT ?", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT 2", "INSERT INTO t (a) VALUES (3)", "INSERT INTO t (a) SELECT 4 WHERE true",
			} {
				var args []any
				if strings.Contains(query, "?") {
					args = []any{i}
				}
				if _, err := harness.SendOnce(context.Background(), db, form, s.Placeholders(query), args); err != nil {
					t.Fatalf("%s, %s: %v", form, query, err)
				}
				_, err := harness.SendOnce(context.Background(), db, form, "INSERT INTO t (a) SELECT 5 WHERE 1 = 0", nil)
				if err != nil && !errors.Is(err, rewrite.ErrSelect) {
					t.Errorf("%s, a row that is not there: %v", form, err)
				}
			}
		}
		if got, want := idsOf(t, s.Raw), []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}
