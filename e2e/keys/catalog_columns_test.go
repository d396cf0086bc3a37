package keys_test

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
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// columnsEngines are those on which INSERTs without a column list are tried.
var columnsEngines = harness.Engines

// unlistedCell is an INSERT without a column list into the table t (a, id, b).
type unlistedCell struct {
	name  string
	query string
	args  []any
	on    string   // the names of dialects, empty for all
	want  []string // the rows as a/id/b, with new for a key that keyfill made
	err   error
}

var unlistedCells = []unlistedCell{
	{name: "null", query: "INSERT INTO t VALUES (1, NULL, 'x')", want: []string{"1/new/x"}},
	{name: "empty", query: "INSERT INTO t VALUES (1, '', 'x')", want: []string{"1/new/x"}},
	{name: "zero", query: "INSERT INTO t VALUES (1, '00000000-0000-0000-0000-000000000000', 'x')", want: []string{"1/new/x"}},
	{name: "default", query: "INSERT INTO t VALUES (1, DEFAULT, DEFAULT)", want: []string{"1/new/-"}, on: "mariadb postgres"},
	{name: "key", query: "INSERT INTO t VALUES (1, '" + harness.OwnKey + "', 'x')", want: []string{"1/" + harness.OwnKey + "/x"}},
	{name: "rows", query: "INSERT INTO t VALUES (1, NULL, 'x'), (2, '" + harness.OwnKey + "', 'y'), (3, '', NULL)",
		want: []string{"1/new/x", "2/" + harness.OwnKey + "/y", "3/new/-"}},
	{name: "arguments", query: "INSERT INTO t VALUES (?, NULL, ?)", args: []any{1, "x"}, want: []string{"1/new/x"}},
	{name: "argument is null", query: "INSERT INTO t VALUES (?, ?, ?)", args: []any{1, nil, "x"}, want: []string{"1/new/x"}},
	{name: "argument is empty", query: "INSERT INTO t VALUES (?, ?, ?)", args: []any{1, "", "x"}, want: []string{"1/new/x"}},
	{name: "argument is a key", query: "INSERT INTO t VALUES (?, ?, ?)", args: []any{1, harness.OwnKey, "x"}, want: []string{"1/" + harness.OwnKey + "/x"}},
	{name: "rows of arguments", query: "INSERT INTO t VALUES (?, ?, ?), (?, ?, ?), (?, NULL, ?)",
		args: []any{1, nil, "x", 2, harness.OwnKey, "y", 3, "z"}, want: []string{"1/new/x", "2/" + harness.OwnKey + "/y", "3/new/z"}},
	{name: "alias and comments", query: "INSERT /* a */ INTO t AS q -- list\n VALUES /* b */ (1, NULL, 'x')", want: []string{"1/new/x"}, on: "postgres sqlite"},

	// PostgreSQL takes the first columns.
	{name: "one value", query: "INSERT INTO t VALUES (?)", args: []any{1}, on: "postgres", want: []string{"1/new/-"}},
	{name: "one literal", query: "INSERT INTO t VALUES (1), (2)", on: "postgres", want: []string{"1/new/-", "2/new/-"}},
	{name: "two values", query: "INSERT INTO t VALUES (1, NULL)", on: "postgres", want: []string{"1/new/-"}},
	{name: "two values with a key", query: "INSERT INTO t VALUES (?, ?)", args: []any{1, harness.OwnKey}, on: "postgres", want: []string{"1/" + harness.OwnKey + "/-"}},
	{name: "one fewer", query: "INSERT INTO t VALUES (1, 'x')", on: "mariadb sqlite", err: rewrite.ErrColumnCount},
	{name: "one more", query: "INSERT INTO t VALUES (1, NULL, 'x', 2)", err: rewrite.ErrColumnCount},
	{name: "rows of two lengths", query: "INSERT INTO t VALUES (1, NULL, 'x'), (1, NULL)", err: rewrite.ErrColumnCount},
	{name: "query", query: "INSERT INTO t SELECT 1, '" + harness.OwnKey + "', 'x'", want: []string{"1/" + harness.OwnKey + "/x"}},
	{name: "query of fewer", query: "INSERT INTO t SELECT 1, 'x'", on: "mariadb sqlite", err: rewrite.ErrColumnCount},

	{name: "do nothing", query: "INSERT INTO t VALUES (9, NULL, 'x') ON CONFLICT DO NOTHING", on: "postgres sqlite", want: []string{"9/new/x"}},
	{name: "do update", query: "INSERT INTO t VALUES (9, NULL, 'x') ON CONFLICT (a) DO UPDATE SET b = 'y'", on: "postgres sqlite", want: []string{"9/new/x"}},
	{name: "on duplicate key", query: "INSERT INTO t VALUES (?, NULL, 'x') ON DUPLICATE KEY UPDATE b = 'y'", args: []any{9}, on: "mariadb", want: []string{"9/new/x"}},
	{name: "ignore", query: "INSERT IGNORE t VALUES (9, NULL, 'x')", on: "mariadb", want: []string{"9/new/x"}},
	{name: "replace", query: "REPLACE INTO t VALUES (9, NULL, 'x')", on: "mariadb sqlite", want: []string{"9/new/x"}},
}

// TestUnlisted: the values of an INSERT without a column list go to the columns
// of the table as it is, on every path, and the key to its own.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (a INT UNIQUE, id CHAR(36) NOT NULL PRIMARY KEY, b VARCHAR(20))")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		for _, c := range unlistedCells {
			if c.on != "" && !strings.Contains(c.on, s.Dialect.Name) {
				continue
			}
			query := s.Placeholders(c.query)
			for _, form := range []string{"direct", "prepared", "transaction"} {
				t.Run(c.name+"/"+form, func(t *testing.T) {
					harness.Exec(t, s.Raw, "DELETE FROM t")
					ctx, rec := keyfill.Record(context.Background())
					err := harness.SendUnlisted(ctx, db, form, query, c.args)
					if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
						t.Fatalf("error %v, want %v", err, c.err)
					}
					if got := abOf(t, s.Raw, rec); !slices.Equal(got, c.want) {
						t.Errorf("stored %q, want %q", got, c.want)
					}
				})
			}
		}
	})
}

// abOf returns the rows of t (a, id, b) as a/id/b, with new for a key that was
// recorded.
func abOf(t *testing.T, db *sql.DB, rec *keyfill.Recorder) []string {
	t.Helper()
	made := map[string]bool{}
	for _, k := range rec.Keys("t") {
		made[fmt.Sprint(k.Key)] = true
	}
	rows, err := db.Query("SELECT a, id, b FROM t ORDER BY a")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var a, id string
		b := sql.NullString{}
		if err := rows.Scan(&a, &id, &b); err != nil {
			t.Fatal(err)
		}
		if made[id] {
			id = "new"
		}
		if !b.Valid {
			b.String = "-"
		}
		all = append(all, a+"/"+id+"/"+b.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUnlistedIntegers: the same with keys of a sequence, where 0 is none on
// MariaDB, and consecutive keys for the rows of one statement.
func TestUnlistedIntegers(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (a INT, id BIGINT NOT NULL PRIMARY KEY, b INT)")
		db, _ := s.Open(t, harness.SequenceID("t"))
		want := []int64{1, 2, 3, 4, 77}
		last := 4
		if s.Dialect.OneWriter {
			want[3], want[4], last = 77, 78, 78 // the numbers go on above a key that is brought
		}
		harness.Exec(t, db, "INSERT INTO t VALUES (1, NULL, 1), (2, NULL, 2)")
		harness.Exec(t, db, s.Placeholders("INSERT INTO t VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)"), 3, nil, 3, 77, 77, 77, last, nil, last)
		if s.Dialect.Name == "mariadb" {
			harness.Exec(t, db, "INSERT INTO t VALUES (5, 0, 5)")
			want = []int64{1, 2, 3, 4, 5, 77}
		}
		if s.IsPostgres() {
			harness.Exec(t, db, "INSERT INTO t VALUES (5)")
			want = []int64{1, 2, 3, 4, 5, 77}
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, want) {
			t.Errorf("keys %v, want %v", got, want)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a <> id"); n != 0 {
			t.Errorf("%d rows have the key of another", n)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE b <> a"); n != 0 {
			t.Errorf("%d rows have values in other columns", n)
		}
	})
}

// TestUnlistedOrNot: which columns are meant without a list: not those that are
// hidden, and generated ones where the engine counts them.
func TestUnlistedOrNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		harness.Engine
		create  []string
		insert  string
		refused string // one value more or less
	}{
		{harness.MySQLDefault, []string{"CREATE TABLE t (a INT, h INT INVISIBLE, g INT AS (a + 1), id CHAR(36) PRIMARY KEY)"},
			"INSERT INTO t VALUES (1, DEFAULT, NULL)", "INSERT INTO t VALUES (1, NULL)"},
		{harness.PgxDefault, []string{
			"CREATE TABLE t (gone INT, a INT, g INT GENERATED ALWAYS AS (a + 1) STORED, id CHAR(36) PRIMARY KEY)",
			"ALTER TABLE t DROP COLUMN gone"},
			"INSERT INTO t VALUES (1, DEFAULT, NULL)", "INSERT INTO t VALUES (1, DEFAULT, NULL, 2)"},
		{harness.SQLiteFile, []string{"CREATE TABLE t (a INT, g INT AS (a + 1), s INT AS (a + 2) STORED, id CHAR(36) PRIMARY KEY)"},
			"INSERT INTO t VALUES (1, NULL)", "INSERT INTO t VALUES (1, 2, NULL)"},
	} {
		t.Run(tt.Name, func(t *testing.T) {
			s := tt.Scratch(t)
			for _, create := range tt.create {
				harness.Exec(t, s.Raw, create)
			}
			db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
			harness.Exec(t, db, tt.insert)
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND g = 2 AND LENGTH(id) = 36"); n != 1 {
				t.Errorf("%d rows", n)
			}
			if _, err := db.Exec(tt.refused); !errors.Is(err, rewrite.ErrColumnCount) {
				t.Errorf("%s: %v", tt.refused, err)
			}
		})
	}
}

// TestUnlistedNames: columns and tables whose names need quotes, in another
// schema and in the session's own.
func TestUnlistedNames(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		quote := s.Dialect.QuoteIdent
		odd := quote("Odd `\"t") // folded it is another table's
		columns := "(" + quote("A b") + " INT, " + quote("q\"`uote") + " INT, " + quote("select") + " INT, " +
			quote("Ünï") + " INT, id CHAR(36) PRIMARY KEY)"
		other := "other"
		create := "CREATE SCHEMA other"
		switch s.Dialect.Name {
		case "sqlite":
			create = "ATTACH ':memory:' AS other"
		case "mariadb":
			// The databases of tests are on one server.
			other = "other_" + strings.ReplaceAll(s.Name, "-", "_")
			create = "CREATE DATABASE " + other
			t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP DATABASE "+other) })
		}
		cfg := &policy.Config{Tables: map[string]policy.Table{"*": {Column: "id"}}}
		db, _ := s.Open(t, cfg)
		db.SetMaxOpenConns(1) // SQLite's schema is the connection's
		for _, query := range []string{
			create,
			"CREATE TABLE " + odd + columns,
			"CREATE TABLE " + other + ".t (b INT, id CHAR(36) PRIMARY KEY, a INT)",
			"CREATE TABLE t (a INT, b INT, id CHAR(36) PRIMARY KEY)",
		} {
			harness.Exec(t, db, query)
		}
		for _, query := range []string{
			"INSERT INTO " + odd + " VALUES (1, 2, 3, 4, NULL)",
			"INSERT INTO t VALUES (1, 2, NULL)",
			"INSERT INTO " + other + " . T VALUES (2, NULL, 1)",
		} {
			if s.Dialect.Name == "mariadb" {
				query = strings.ReplaceAll(query, " . T ", " . t ") // names of tables depend on case
			}
			harness.Exec(t, db, query)
		}
		for _, query := range []string{
			"SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2 AND LENGTH(id) = 36",
			"SELECT COUNT(*) FROM " + other + ".t WHERE a = 1 AND b = 2 AND LENGTH(id) = 36",
			"SELECT COUNT(*) FROM " + odd + " WHERE " + quote("A b") + " = 1 AND " + quote("Ünï") + " = 4 AND LENGTH(id) = 36",
		} {
			if n := harness.Count(t, db, query); n != 1 {
				t.Errorf("%s: %d rows", query, n)
			}
		}
	})
}
