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
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// mergeKeys are the kinds of keys, and the types of columns that they are for.
var mergeKeys = []struct {
	name, column, matched string // matched is the key of the row that is there
	rule                  policy.Table
}{
	{"uuid", "uuid", "11111111-1111-1111-1111-111111111111", policy.Table{}},
	{"uuid as text", "text", "11111111-1111-1111-1111-111111111111", policy.Table{}},
	{"uuid as char", "char(36)", "11111111-1111-1111-1111-111111111111", policy.Table{}},
	{"bytea", "bytea", `\x11111111111111111111111111111111`, policy.Table{Layout: dialect.SequentialAsBinary}},
	{"ulid", "varchar(26)", "01ARZ3NDEKTSV4RRFFQ69G5FAV", policy.Table{InPlace: &policy.Source{Kind: policy.KindULID}}},
	{"typeid", "char(30)", "cus_01h455vb4pex5vsknk084sn02q", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "cus"}}},
	{"sequence", "bigint", "1", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 100}}},
	{"sequence of 31 bits", "int", "1", policy.Table{MaxBits: 31, InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 100}}},
	{"sequence as text", "text", "1", policy.Table{Layout: dialect.SequentialAsString, InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 100}}},
}

// mergeCells are texts over the table t (id, a, n), in which a row a = 'm' is
// already.
var mergeCells = []struct {
	name, query string
	args        []any
	want        []string // the rows as a/n
	drawn       int      // keys
}{
	{name: "one row",
		query: "MERGE INTO t USING (SELECT 'x' AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, 1)",
		want:  []string{"m/0", "x/1"}, drawn: 1},
	{name: "one row bound",
		query: "MERGE INTO t USING (SELECT ?::text AS a, CAST(? AS int) AS n) AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (n, a) VALUES (s.n, s.a)",
		args:  []any{"x", 2}, want: []string{"m/0", "x/2"}, drawn: 1},
	{name: "one row matched",
		query: "MERGE INTO t USING (VALUES (?::text, ?::int)) AS s (a, n) ON t.a = s.a WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, s.n)",
		args:  []any{"m", 3}, want: []string{"m/3"}, drawn: 1},
	{name: "neither",
		query: "MERGE INTO t USING (SELECT 'x' AS a) s ON t.a = s.a WHEN NOT MATCHED AND s.a = 'y' THEN INSERT (a) VALUES (s.a)",
		want:  []string{"m/0"}, drawn: 1},
	{name: "two inserts",
		query: "MERGE INTO t USING (SELECT ?::text AS a) s ON t.a = s.a WHEN NOT MATCHED AND s.a = 'y' THEN INSERT (a, n) VALUES (s.a, 1) WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, ?)",
		args:  []any{"x", 2}, want: []string{"m/0", "x/2"}, drawn: 2},
	{name: "default values",
		query: "MERGE INTO t USING (SELECT 1 AS a) s ON false WHEN NOT MATCHED THEN INSERT DEFAULT VALUES",
		want:  []string{"-/-", "m/0"}, drawn: 1},
	{name: "no column list",
		query: "MERGE INTO t USING (SELECT 'x' AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (DEFAULT, s.a, 4)",
		want:  []string{"m/0", "x/4"}, drawn: 1},
	{name: "default key",
		query: "MERGE INTO t USING (SELECT 'x' AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, id, n) VALUES (s.a, NULL, 5)",
		want:  []string{"m/0", "x/5"}, drawn: 1},
	{name: "several rows",
		query: "MERGE INTO t USING (VALUES ('x', 1), ('m', 2), ('y', 3)) AS s (a, n) ON t.a = s.a WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, s.n)",
		want:  []string{"m/2", "x/1", "y/3"}, drawn: 3},
	{name: "several rows bound",
		query: "MERGE INTO t AS d USING (VALUES (?::text, ?::int), (?, ?), (?, ?)) s(a, n) ON d.a = s.a WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, s.n + ?)",
		args:  []any{"x", 1, "y", 2, "m", 3, 10}, want: []string{"m/0", "x/11", "y/12"}, drawn: 3},
	{name: "several rows, two inserts",
		query: "MERGE INTO t USING (VALUES ('x', 1), ('y', 2)) AS s (a, n) ON t.a = s.a WHEN NOT MATCHED AND s.n > 1 THEN INSERT (a, n) VALUES (s.a, 9) WHEN NOT MATCHED THEN INSERT (id, a, n) VALUES (DEFAULT, s.a, s.n)",
		want:  []string{"m/0", "x/1", "y/9"}, drawn: 2},
	{name: "several rows, one source row twice",
		query: "MERGE INTO t USING (VALUES ('-'), ('-')) AS s (a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT (n) VALUES (6)",
		want:  []string{"-/6", "-/6", "m/0"}, drawn: 2},
	{name: "with in front",
		query: "WITH w AS (SELECT 7 AS n) MERGE INTO t USING (SELECT 'x' AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, n) VALUES (s.a, (SELECT n FROM w))",
		want:  []string{"m/0", "x/7"}, drawn: 1},
}

// mergePaths are the ways to send a text.
var mergePaths = map[string]func(ctx context.Context, db *sql.DB, text string, args ...any) error{
	"exec":     harness.SeveralPaths["exec"],
	"query":    harness.SeveralPaths["query"],
	"prepared": harness.SeveralPaths["prepared"],
	"transaction": func(ctx context.Context, db *sql.DB, text string, args ...any) error {
		return harness.SendUnlisted(ctx, db, "transaction", text, args)
	},
}

// TestMerge: a row that MERGE inserts gets a key of its own, on every path and
// for every kind of key; a row that is there keeps its own. Which keys were taken
// is not known.
//
//deviation:integer-keys | A row that MERGE or INSERT WHEN does not insert has a key drawn for it, which is a gap. keyfill adds a column to VALUES in USING, which EXPLAIN shows. | PostgreSQL, SQL Server, Oracle | `MERGE … USING (VALUES (1), (2)) AS s (a)` | name the key column in the INSERT
func TestMerge(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		if harness.Count(t, s.Raw, "SELECT current_setting('server_version_num')::int / 10000") < 15 {
			harness.Skip(t, "PostgreSQL has MERGE from 15 on")
		}
		for i, k := range mergeKeys {
			table := fmt.Sprintf("t%d", i)
			harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY, a text, n int)", table, k.column))
			db, _ := s.Open(t, harness.FillID(table, k.rule))
			for _, c := range mergeCells {
				for path, send := range mergePaths {
					if i > 0 && path != "exec" && path != "prepared" {
						continue // what differs by path is not the kind of key
					}
					harness.Exec(t, s.Raw, "DELETE FROM "+table)
					harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO %s VALUES ('%s', 'm', 0)", table, k.matched))
					text := strings.ReplaceAll(s.Placeholders(c.query), " t ", " "+table+" AS t ")
					text = strings.ReplaceAll(text, " AS t AS d ", " AS d ")
					ctx, rec := keyfill.Record(context.Background())
					name := k.name + ", " + path + ", " + c.name
					if err := send(ctx, db, text, c.args...); err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					merged(t, s, name, table, k.matched, c.want, c.drawn, rec.All())
				}
			}
		}
	})
}

// merged compares the rows of a table with those that a MERGE was to leave, and
// their keys with those that were drawn.
func merged(t *testing.T, s *harness.Scratch, name, table, matched string, want []string, drawn int, recorded []keyfill.RecordedKey) {
	t.Helper()
	rows, err := s.Raw.Query("SELECT id::text, coalesce(a, '-') || '/' || coalesce(n::text, '-') FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	made := map[string]bool{}
	for _, k := range recorded {
		made[strings.ReplaceAll(fmt.Sprint(k.Key), "-", "")] = true
		if k.Outcome != keyfill.Unknown {
			t.Errorf("%s: a key is called %v", name, k.Outcome)
		}
	}
	if len(recorded) != drawn || len(made) != drawn {
		t.Errorf("%s: %d keys recorded, %d different ones, want %d", name, len(recorded), len(made), drawn)
	}
	var got []string
	for rows.Next() {
		var id, row string
		if err := rows.Scan(&id, &row); err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
		own := id == matched
		if own != strings.HasPrefix(row, "m/") {
			t.Errorf("%s: row %s has the key of another", name, row)
		}
		id = strings.ReplaceAll(strings.TrimPrefix(id, `\x`), "-", "")
		if !own && !made[id] {
			t.Errorf("%s: row %s has a key that was not drawn, or is there twice", name, row)
		}
		delete(made, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: rows %q, want %q", name, got, want)
	}
}

// TestMergeAgain executes one prepared MERGE many times: each execution gets keys
// of its own.
func TestMergeAgain(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id uuid PRIMARY KEY, a int)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		stmt, err := db.Prepare("MERGE INTO t USING (VALUES ($1::int), ($2::int)) AS s (a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)")
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for i := range 20 {
			if _, err := stmt.Exec(i, i+1); err != nil {
				t.Fatal(err)
			}
		}
		if got := harness.Count(t, s.Raw, "SELECT count(DISTINCT a) FROM t"); got != 21 {
			t.Errorf("%d rows, want 21", got)
		}
	})
}

// TestMergeBoundKey: a placeholder in the key's place is a key or none by its
// value, in a MERGE of one row.
func TestMergeBoundKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id uuid PRIMARY KEY, a text)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		const (
			own  = "22222222-2222-2222-2222-222222222222"
			text = "MERGE INTO t USING (SELECT $1::text AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES ($2, s.a)"
		)
		for a, id := range map[string]any{"brings": own, "null": nil, "zero": "00000000-0000-0000-0000-000000000000"} {
			ctx, rec := keyfill.Record(context.Background())
			if _, err := db.ExecContext(ctx, text, a, id); err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			var stored string
			if err := s.Raw.QueryRow("SELECT id::text FROM t WHERE a = $1", a).Scan(&stored); err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			keys := rec.All()
			switch {
			case a == "brings" && (stored != own || len(keys) > 0):
				t.Errorf("%s: stored %s, drawn %v", a, stored, keys)
			case a != "brings" && (len(keys) != 1 || stored != fmt.Sprint(keys[0].Key)):
				t.Errorf("%s: stored %s, drawn %v", a, stored, keys)
			}
		}
	})
}

// TestMergeRefused: where the number of rows is not known, nothing is sent, and a
// MERGE that fails has stored none of its keys.
func TestMergeRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id uuid PRIMARY KEY, a int CHECK (a < 10))")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		for _, source := range []string{
			"generate_series(1, 3) AS s (a)",
			"(SELECT generate_series(1, 3) AS a) s",
			"(SELECT 1 AS a UNION ALL SELECT 2) s",
			"(SELECT a FROM t) s",
			"(VALUES (1), (2)) s (a) CROSS JOIN generate_series(1, 2)",
		} {
			_, err := db.Exec("MERGE INTO t USING " + source + " ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)")
			if !errors.Is(err, rewrite.ErrMerge) {
				t.Errorf("%s: %v", source, err)
			}
		}
		ctx, rec := keyfill.Record(context.Background())
		_, err := db.ExecContext(ctx, "MERGE INTO t USING (VALUES (1), (20)) AS s (a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)")
		if err == nil {
			t.Error("a row that breaks a constraint is taken")
		}
		for _, k := range rec.All() {
			if k.Outcome != keyfill.NotStored {
				t.Errorf("a key of a MERGE that failed is %v", k.Outcome)
			}
		}
		if got := harness.Count(t, s.Raw, "SELECT count(*) FROM t"); got != 0 {
			t.Errorf("%d rows are stored", got)
		}
	})
}
