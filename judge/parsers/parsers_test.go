package parsers_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/judge/parsers"
	"github.com/keyfill/keyfill/judge/tree"
)

var read = map[string]func(string) (*tree.Text, error){
	"postgres": parsers.PostgreSQL, "mysql": parsers.MySQL, "sqlserver": parsers.SQLServer,
}

// skip skips a test of PostgreSQL where its parser could not be built.
func skip(t *testing.T, dialect string) {
	t.Helper()
	if dialect == "postgres" && !parsers.HasPostgreSQL && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip(parsers.ErrNoCompiler)
	}
}

func TestKinds(t *testing.T) {
	cases := []struct {
		dialect, query string
		want           tree.Kind
	}{
		{"postgres", "INSERT INTO t (a) VALUES (1), ($1) ON CONFLICT DO NOTHING RETURNING a", tree.KindValues},
		{"postgres", "INSERT INTO t (a) (VALUES (1))", tree.KindValues},
		{"postgres", "INSERT INTO t (a) VALUES (1) LIMIT 1", tree.KindQuery},
		{"postgres", "INSERT INTO t (a, b) VALUES (1)", tree.KindCount},
		{"postgres", "INSERT INTO t DEFAULT VALUES", tree.KindDefault},
		{"postgres", "INSERT INTO t VALUES (1)", tree.KindUnlisted},
		{"postgres", "INSERT INTO t SELECT 1", tree.KindUnlisted},
		{"postgres", "INSERT INTO t (a) SELECT 1", tree.KindQuery},
		{"postgres", "WITH c AS (SELECT 1) INSERT INTO t (a) VALUES ((SELECT * FROM c))", tree.KindValues},
		{"postgres", "WITH c AS (INSERT INTO t (a) VALUES (1) RETURNING a) SELECT * FROM c", tree.KindWrapped + "nested"},
		{"postgres", "EXPLAIN INSERT INTO t (a) VALUES (1)", tree.KindWrapped + "explain"},
		{"postgres", "PREPARE p AS INSERT INTO t (a) VALUES ($1)", tree.KindWrapped + "prepare"},
		{"postgres", "MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1)", tree.KindWrapped + "merge"},
		{"postgres", "CREATE RULE r AS ON INSERT TO t DO INSTEAD INSERT INTO u VALUES (1)", tree.KindBody},
		{"postgres", "INSERT INTO t (a) VALUES (1); INSERT INTO t DEFAULT VALUES", tree.KindSeveral},
		{"postgres", "INSERT INTO t (a) VALUES (1); INSERT INTO t VALUES (1)", tree.KindMixed},
		{"postgres", "SELECT 'INSERT INTO t (a) VALUES (1)'", tree.KindOther},
		{"mysql", "INSERT INTO t (a) VALUES (1), (?) ON DUPLICATE KEY UPDATE a = 2", tree.KindValues},
		{"mysql", "REPLACE t SET a = 1", tree.KindSet},
		{"mysql", "INSERT INTO t VALUES (), ()", tree.KindValues},
		{"mysql", "INSERT INTO t () VALUES ()", tree.KindValues},
		{"mysql", "INSERT INTO t (a) TABLE u", tree.KindQuery},
		{"sqlserver", "INSERT t (a) OUTPUT inserted.a VALUES (1), (@p1)", tree.KindValues},
		{"sqlserver", "INSERT t DEFAULT VALUES", tree.KindDefault},
		{"sqlserver", "INSERT t (a) EXEC p", tree.KindExec},
		{"sqlserver", "INSERT @t (a) VALUES (1)", tree.KindNoTable},
		{"sqlserver", "INSERT #t (a) VALUES (1)", tree.KindNoTable},
		{"sqlserver", "INSERT INTO tempdb..[#t] SELECT 1", tree.KindNoTable},
		{"sqlserver", "INSERT INTO t# (a) VALUES (1)", tree.KindValues},
		{"sqlserver", "CREATE TABLE #t (a int) INSERT #t VALUES (1) INSERT t (a) VALUES (1)", tree.KindSeveral},
		{"sqlserver", "MERGE #t USING t ON t.a = #t.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);", tree.KindNoTable},
		{"sqlserver", "CREATE PROCEDURE p AS INSERT t VALUES (1)", tree.KindBody},
		{"sqlserver", "SET NOCOUNT ON INSERT t (a) VALUES (1)", tree.KindSeveral},
		{"sqlserver", "IF 1 = 1 INSERT t (a) VALUES (1)", tree.KindWrapped + "block"},
		{"sqlserver", "MERGE t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);", tree.KindWrapped + "merge"},
		{"sqlserver", "WITH c AS (SELECT 1 a) INSERT INTO t (a) SELECT a FROM c", tree.KindQuery},
	}
	for _, c := range cases {
		t.Run(c.dialect+" "+c.query, func(t *testing.T) {
			skip(t, c.dialect)
			got, err := read[c.dialect](c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind() != c.want {
				t.Errorf("Kind(%q) = %q, want %q", c.query, got.Kind(), c.want)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for name, f := range read {
		if _, err := f("INSERT INTO t (a VALUES (1)"); err == nil {
			t.Errorf("%s takes what is no SQL", name)
		}
	}
}

func TestSQLite(t *testing.T) {
	s, err := parsers.OpenSQLite()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for query, ok := range map[string]bool{
		"INSERT INTO missing (a) VALUES (1)":                      true,
		"INSERT INTO missing (a) VALUES (1) -- )":                 true,
		"WITH a AS (SELECT 1), a AS (SELECT 2) INSERT INTO t (b)": false,
		"INSERT INTO missing (a) VALUES (1":                       false,
		"INSERT INTO missing (a) VALUES (1) RETURNING *":          true,
		"INSERT INTO missing (a) VALUES (1) ON DUPLICATE KEY":     false,
		"INSERT INTO missing (a) VALUES (?1, $2, :c, @d, 'x''y')": true,
		"SELECT 'x":   false,
		"SELECT \x01": false,
		"":            true,
	} {
		if err := s.Accepts([]string{"SELECT 1", query}); (err == nil) != ok {
			t.Errorf("Accepts(%q) = %v", query, err)
		}
	}
}

// TestWrongFills gives each judge fills that are wrong in one way.
func TestWrongFills(t *testing.T) {
	const key = "'01900000-0000-7000-8000-000000000001'"
	const key2 = "'01900000-0000-7000-8000-000000000002'"
	cases := []struct{ name, dialect, in, out string }{
		{"", "postgres", "INSERT INTO t (a) VALUES (1) RETURNING a", "INSERT INTO t (a, kf_id) VALUES (1, " + key + ") RETURNING a"},
		{"", "postgres", "INSERT INTO t DEFAULT VALUES", "INSERT INTO t (kf_id) VALUES (" + key + ")"},
		{"", "postgres", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + "), (2, " + key2 + "::uuid)"},
		{"", "mysql", "INSERT INTO t SET a = 1 ON DUPLICATE KEY UPDATE a = 2", "INSERT INTO t SET a = 1, kf_id = " + key + " ON DUPLICATE KEY UPDATE a = 2"},
		{"", "mysql", "INSERT INTO t VALUES (), ()", "INSERT INTO t (kf_id) VALUES (" + key + "), (" + key2 + ")"},
		{"", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, 7), (2, IF(LAST_INSERT_ID(7), 8, 8))"},
		{"another LAST_INSERT_ID", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, 7), (2, IF(LAST_INSERT_ID(6), 8, 8))"},
		{"no first row for LAST_INSERT_ID", "mysql", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id) VALUES (1, IF(LAST_INSERT_ID(7), 8, 8))"},
		{"two keys for one row", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, 7), (2, IF(LAST_INSERT_ID(7), 8, 9))"},
		{"a condition that is no LAST_INSERT_ID", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, 7), (2, IF(7, 8, 8))"},
		{"", "sqlserver", "INSERT t OUTPUT inserted.a DEFAULT VALUES", "INSERT t ([kf_id]) OUTPUT inserted.a VALUES (" + key + ")"},
		{"", "sqlserver", "INSERT t (a) VALUES (N'x')", "INSERT t (a, [kf_id]) VALUES (N'x', " + key + ")"},
		{"", "postgres", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT lower('X')", "INSERT INTO t (a, kf_id) SELECT 1, CAST(" + key + " AS uuid) UNION ALL SELECT COALESCE(lower('X')), CAST(" + key2 + " AS uuid)"},
		{"", "mysql", "INSERT INTO t (a) SELECT 1 FROM DUAL WHERE 1", "INSERT INTO t (a, kf_id) SELECT 1, " + key + " FROM DUAL WHERE 1"},
		{"", "sqlserver", "INSERT t (a) SELECT 1 UNION ALL SELECT 2", "INSERT t (a, kf_id) SELECT 1, " + key + " UNION ALL SELECT 2, " + key2},
		{"one key of two SELECTs", "mysql", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT 2", "INSERT INTO t (a, kf_id) SELECT 1, " + key + " UNION ALL SELECT 2, " + key},
		{"key in the wrong column", "postgres", "INSERT INTO t (a, b) VALUES (1, 2)", "INSERT INTO t (a, b, kf_id) VALUES (1, " + key + ", 2)"},
		{"key in the wrong column", "mysql", "INSERT INTO t (a, b) VALUES (1, 2)", "INSERT INTO t (a, b, kf_id) VALUES (1, " + key + ", 2)"},
		{"key in the wrong column", "sqlserver", "INSERT t (a, b) VALUES (1, 2)", "INSERT t (a, b, kf_id) VALUES (1, " + key + ", 2)"},
		{"two values", "postgres", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + ", " + key2 + ")"},
		{"two columns", "postgres", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id, kf_id) VALUES (1, " + key + ", " + key2 + ")"},
		{"another table", "mysql", "INSERT INTO t (a) VALUES (1)", "INSERT INTO u (a, kf_id) VALUES (1, " + key + ")"},
		{"a row without", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + "), (2)"},
		{"a row more", "mysql", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + "), (1, " + key2 + ")"},
		{"one key twice", "mysql", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + "), (2, " + key + ")"},
		{"a literal changed", "postgres", "INSERT INTO t (a) VALUES ('x ')", "INSERT INTO t (a, kf_id) VALUES ('x', " + key + ")"},
		{"a literal changed", "mysql", "INSERT INTO t (a) VALUES ('x ')", "INSERT INTO t (a, kf_id) VALUES ('x', " + key + ")"},
		{"a literal changed", "sqlserver", "INSERT INTO t (a) VALUES ('x ')", "INSERT INTO t (a, kf_id) VALUES ('x', " + key + ")"},
		{"RETURNING moved", "postgres", "INSERT INTO t (a) VALUES (1) RETURNING a", "INSERT INTO t (a, kf_id) VALUES (1, " + key + ")"},
		{"OUTPUT moved", "sqlserver", "INSERT t (a) OUTPUT inserted.a VALUES (1)", "INSERT t (a, kf_id) VALUES (1, " + key + ")"},
		{"the key in the update", "postgres", "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", "INSERT INTO t (a, kf_id) VALUES (1, " + key + ") ON CONFLICT (a) DO UPDATE SET a = 2, kf_id = " + key},
		{"the key in the update", "mysql", "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", "INSERT INTO t (a, kf_id) VALUES (1, " + key + ") ON DUPLICATE KEY UPDATE a = 2, kf_id = " + key},
		{"the caller's placeholder", "postgres", "INSERT INTO t (a) VALUES ($1)", "INSERT INTO t (a, kf_id) VALUES ($1, $1)"},
		{"no key", "postgres", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id) VALUES (1, now())"},
		{"rows in another order", "postgres", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a, kf_id) VALUES (2, " + key + "), (1, " + key2 + ")"},
		{"a statement more", "postgres", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, kf_id) VALUES (1, " + key + "); SELECT 1"},
		{"another statement changed", "postgres", "SELECT 1; INSERT INTO t (a) VALUES (1)", "SELECT 2; INSERT INTO t (a, kf_id) VALUES (1, " + key + ")"},
		{"no column", "postgres", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1, " + key + ")"},
		{"the query changed", "postgres", "INSERT INTO t (a) SELECT a FROM u", "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT b FROM u) SELECT c1, 1 FROM kf"},
	}
	for _, c := range cases {
		t.Run(c.dialect+" "+c.name, func(t *testing.T) {
			skip(t, c.dialect)
			in, err := read[c.dialect](c.in)
			if err != nil {
				t.Fatalf("%q: %v", c.in, err)
			}
			out, err := read[c.dialect](c.out)
			if err != nil {
				t.Fatalf("%q: %v", c.out, err)
			}
			f, err := tree.Compare(in, out, tree.Rule{Column: "kf_id", Literal: c.name != "the caller's placeholder"})
			if (err == nil) != (c.name == "") {
				t.Errorf("%s: %s: Compare(%q, %q) = %v", c.dialect, c.name, c.in, c.out, err)
			}
			if c.name == "" && (f.Inserts != 1 || len(f.Unfilled) != 0) {
				t.Errorf("%s: %q: %d filled, %d not", c.dialect, c.out, f.Inserts, len(f.Unfilled))
			}
		})
	}
}
