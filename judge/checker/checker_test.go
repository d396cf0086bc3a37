package checker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/checker"
	"github.com/keyfill/keyfill/judge/tree"
)

func TestKinds(t *testing.T) {
	cases := []struct {
		dialect, query string
		want           tree.Kind
	}{
		{"oracle", "INSERT INTO t (a, b) VALUES (:1, q'[it's, (so]') RETURNING a INTO :2", tree.KindValues},
		{"oracle", "INSERT /*+ APPEND */ INTO t@far x (a) VALUES (1)", tree.KindValues},
		{"oracle", "INSERT INTO t PARTITION (p) (a) VALUES (DATE '2026-01-01')", tree.KindValues},
		{"oracle", "INSERT INTO (SELECT a FROM t) VALUES (1)", tree.KindNoTable},
		{"oracle", "INSERT INTO t SELECT a FROM u LOG ERRORS INTO e ('x')", tree.KindUnlisted},
		{"oracle", "INSERT ALL INTO t (a) VALUES (b) INTO u (c) VALUES (d) SELECT b, d FROM v", tree.KindWrapped + "multi-table"},
		{"oracle", "INSERT WHEN a = 1 THEN INTO t (a) VALUES (b) SELECT b FROM v", tree.KindWrapped + "multi-table"},
		{"oracle", "BEGIN IF 1 = 1 THEN INSERT INTO t (a) VALUES (1); END IF; END;", tree.KindWrapped + "block"},
		{"oracle", "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO u (a) VALUES (1); END;", tree.KindBody},
		{"oracle", "MERGE INTO t USING u ON (t.a = u.a) WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)", tree.KindWrapped + "merge"},
		{"oracle", "EXPLAIN PLAN FOR INSERT INTO t (a) VALUES (1)", tree.KindWrapped + "explain"},
		{"oracle", "CREATE VIEW v AS SELECT 1 FROM t WITH INSERT x UPDATE", tree.KindOther},
		{"sqlite", "INSERT OR REPLACE INTO [silly \" name] (a) VALUES (?1)", tree.KindValues},
		{"sqlite", "UPDATE OR REPLACE t SET a = 1", tree.KindOther},
		{"sqlite", "SELECT replace(a, 'x', 'y') FROM t", tree.KindOther},
		{"sqlite", "INSERT INTO 't' ('a') VALUES (1) ON CONFLICT DO UPDATE SET a = 2", tree.KindValues},
		{"sqlite", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; INSERT INTO u VALUES (1); END; INSERT INTO t (a) VALUES (1)", tree.KindSeveral},
		{"sqlite", "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); END;", tree.KindBody},
		{"sqlite", "INSERT INTO t (a) VALUES (1) UNION SELECT 2", tree.KindQuery},
		{"mariadb", "INSERT INTO t SET a = 1, b = (SELECT 2, 3) RETURNING a", tree.KindSet},
		{"mariadb", "REPLACE t (a) VALUES ('it\\'s; -- no comment') -- one\n, (2) # two", tree.KindValues},
		{"mariadb", "INSERT INTO t () VALUES ()", tree.KindValues},
		{"mariadb", "PREPARE s FROM 'INSERT INTO t (a) VALUES (1)'", tree.Kind(tree.PrepareText)},
		{"mariadb", "LOAD DATA INFILE 'x' INTO TABLE t", tree.Kind(tree.Bulk)},
		{"mysql", "INSERT INTO t (a) VALUES ROW(1), ROW(2) AS n (m) ON DUPLICATE KEY UPDATE a = m", tree.KindValues},
		{"sqlserver", "SET NOCOUNT ON INSERT t (a) VALUES (1) SELECT 2", tree.KindSeveral},
		{"sqlserver", "INSERT t (a) VALUES (1) OPTION (RECOMPILE)", tree.KindValues},
		{"sqlserver", "IF 1 = 1 BEGIN INSERT t (a) VALUES (1) END", tree.KindWrapped + "block"},
		{"sqlserver", "INSERT OPENQUERY (far, 'SELECT a FROM t') VALUES (1)", tree.KindNoTable},
		{"sqlserver", "INSERT INTO ..t (a, ..b) EXEC p", tree.KindExec},
		{"sqlserver", "INSERT #t VALUES (1)", tree.KindNoTable},
		{"sqlserver", "INSERT INTO tempdb..[#t] EXEC p", tree.KindNoTable},
		{"sqlserver", "MERGE TOP (1) INTO #t WITH (HOLDLOCK) AS x USING t ON t.a = x.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);", tree.KindNoTable},
		{"sqlserver", "MERGE t USING #t AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);", tree.KindWrapped + "merge"},
		{"sqlserver", "INSERT [#s].t# (a) VALUES (1)", tree.KindValues},
		{"sqlserver", "BULK INSERT t FROM 'x'", tree.Kind(tree.Bulk)},
		{"sqlserver", "DELETE FROM t OUTPUT deleted.a INTO u (a)", tree.Kind(tree.OutputInto)},
		{"sqlserver", "WITH c AS (SELECT 1 a) INSERT t WITH (TABLOCK) (a) SELECT a FROM c", tree.KindQuery},
		{"postgres", "INSERT INTO t (a[1], b.c) VALUES (ARRAY[1, 2], $1)", tree.KindValues},
		{"postgres", "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1)", tree.KindUnlisted},
		{"postgres", "DO $x$ INSERT INTO t (a) VALUES (1) $x$", tree.KindOther},
		{"postgres", "COPY t FROM STDIN", tree.Kind(tree.Bulk)},
		{"postgres", "COPY (SELECT a FROM t) TO STDOUT", tree.KindOther},
	}
	for _, c := range cases {
		got, err := checker.Read(c.dialect, c.query)
		if err != nil {
			t.Errorf("%s: %q: %v", c.dialect, c.query, err)
			continue
		}
		if got.Kind() != c.want {
			t.Errorf("%s: Kind(%q) = %q, want %q", c.dialect, c.query, got.Kind(), c.want)
		}
	}
}

func TestUnfinished(t *testing.T) {
	for _, c := range [][2]string{
		{"oracle", "SELECT 'x"}, {"oracle", "SELECT q'[x]"}, {"oracle", "SELECT (1"}, {"oracle", "SELECT 1)"},
		{"oracle", "SELECT 1 /* x"}, {"postgres", "SELECT $a$ x"}, {"postgres", "SELECT (1]"}, {"sqlserver", "SELECT [x"},
		{"postgres", "SELECT /* /* */ 1"}, {"mysql", "SELECT 'x\\'"}, {"klingon", "SELECT 1"},
	} {
		if _, err := checker.Read(c[0], c[1]); err == nil {
			t.Errorf("%s: Read(%q) does not fail", c[0], c[1])
		}
		if _, err := checker.Split(c[0], c[1]); err == nil {
			t.Errorf("%s: Split(%q) does not fail", c[0], c[1])
		}
	}
	if _, err := checker.Read("sqlite", "SELECT 1 /* x"); err != nil {
		t.Errorf("SQLite ends a comment with the text: %v", err)
	}
}

func TestSplit(t *testing.T) {
	got, err := checker.Split("sqlite", "SELECT ';'; CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; ; SELECT 2")
	want := []string{"SELECT ';'", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END", "SELECT 2"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Split = %q, %v, want %q", got, err, want)
	}
}

func TestComments(t *testing.T) {
	got, err := checker.Read("mysql", "SELECT /* a */ 1 # b\n-- c\n--d /*! e */")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/* a */|# b|-- c|/*! e */"; strings.Join(got.Comments, "|") != want {
		t.Errorf("comments are %q, want %q", got.Comments, want)
	}
}

func TestNumbered(t *testing.T) {
	cases := []struct {
		name, dialect, in, out string
	}{
		{"", "mysql", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT c1, c2, 0 - 1 + ROW_NUMBER() OVER () FROM kf"},
		{"", "mysql", "INSERT INTO t (a) SELECT x FROM u ON DUPLICATE KEY UPDATE a = 1", "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT x FROM u) SELECT c1, ROW_NUMBER() OVER () FROM kf ON DUPLICATE KEY UPDATE a = 1"},
		{"", "sqlserver", "INSERT t (a) SELECT x FROM u", "WITH kf (c1) AS (SELECT x FROM u) INSERT t (a, kf_id) SELECT c1, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM kf"},
		{"", "sqlserver", "WITH c AS (SELECT 1 x) INSERT t (a) SELECT x FROM c", "WITH c AS (SELECT 1 x), kf (c1) AS (SELECT x FROM c) INSERT t (a, kf_id) SELECT c1, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM kf"},
		{"", "postgres", "INSERT INTO t (a) TABLE u", "INSERT INTO t (a, kf_id) WITH kf (c1) AS MATERIALIZED (TABLE u) SELECT c1, ROW_NUMBER() OVER () FROM kf"},
		{"", "postgres", "INSERT INTO t (a, b, c) SELECT x, $1, 'z' AS z FROM u WHERE y = $2", "INSERT INTO t (a, b, c, kf_id) WITH kf (c1, c2, c3) AS (SELECT x, NULL, 'z' AS z FROM u WHERE y = $2) SELECT c1, $1, 'z', ROW_NUMBER() OVER () FROM kf"},
		{"", "postgres", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT kf.*, ROW_NUMBER() OVER () FROM kf"},
		{"another's columns", "postgres", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT u.*, ROW_NUMBER() OVER () FROM kf, u"},
		{"", "postgres", "INSERT INTO t (a, b) SELECT * FROM u", "INSERT INTO t (a, b, kf_id) WITH kf AS (SELECT * FROM u) SELECT kf.*, ROW_NUMBER() OVER () FROM kf"},
		{"", "sqlserver", "INSERT t (a) SELECT x FROM u ORDER BY x OPTION (MAXDOP 1)", "WITH kf (c1) AS (SELECT x FROM u ORDER BY x OFFSET 0 ROWS) INSERT t (a, kf_id) SELECT c1, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM kf OPTION (MAXDOP 1)"},
		{"another argument", "postgres", "INSERT INTO t (a, b) SELECT $2, $1 FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT NULL, NULL FROM u) SELECT $1, $2, ROW_NUMBER() OVER () FROM kf"},
		{"a star without names elsewhere", "mysql", "INSERT INTO t (a, b) SELECT * FROM u", "INSERT INTO t (a, b, kf_id) WITH kf AS (SELECT * FROM u) SELECT kf.*, ROW_NUMBER() OVER () FROM kf"},
		{"no names for known columns", "postgres", "INSERT INTO t (a) SELECT x FROM u", "INSERT INTO t (a, kf_id) WITH kf AS (SELECT x FROM u) SELECT kf.*, ROW_NUMBER() OVER () FROM kf"},
		{"columns exchanged", "mysql", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT c2, c1, ROW_NUMBER() OVER () FROM kf"},
		{"key in front", "mysql", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT ROW_NUMBER() OVER (), c1, c2 FROM kf"},
		{"a name too few", "mysql", "INSERT INTO t (a, b) SELECT x, y FROM u", "INSERT INTO t (a, b, kf_id) WITH kf (c1) AS (SELECT x, y FROM u) SELECT c1, 2, ROW_NUMBER() OVER () FROM kf"},
		{"no names", "mysql", "INSERT INTO t (a) SELECT x FROM u", "INSERT INTO t (a, kf_id) WITH kf AS (SELECT x FROM u) SELECT x, ROW_NUMBER() OVER () FROM kf"},
		{"a derived table", "mysql", "INSERT INTO t (a) SELECT x FROM u", "INSERT INTO t (a, kf_id) SELECT kf.*, ROW_NUMBER() OVER () FROM (SELECT x FROM u) kf"},
		{"nothing selected", "mysql", "INSERT INTO t (a) SELECT x FROM u", "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT x FROM u) TABLE kf"},
	}
	for _, c := range cases {
		q, err := checker.QueryOf(c.dialect, c.in)
		if err != nil {
			t.Fatal(err)
		}
		in, err := checker.Read(c.dialect, q.Text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := checker.Read(c.dialect, c.out)
		if err != nil {
			t.Fatal(err)
		}
		f, err := tree.Compare(in, out, tree.Rule{Column: "kf_id", Literal: true})
		if err != nil || len(f.Queries) != 1 {
			t.Errorf("%s: Compare(%q, %q) = %v", c.name, c.in, c.out, err)
			continue
		}
		if err := checker.Numbered(c.dialect, f.Queries[0], q); (err == nil) != (c.name == "") {
			t.Errorf("%s: Numbered(%q) = %v", c.name, c.out, err)
		}
	}
}

// FuzzRead: no text makes the checker panic, and a text is always itself.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"INSERT INTO t (a) VALUES (1), (?)", "CREATE TRIGGER x BEGIN CASE; END", "(", ";;", "INSERT", "WITH", "EXPLAIN ;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, d := range []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"} {
			a, err := checker.Read(d, query)
			if err != nil {
				continue
			}
			b, _ := checker.Read(d, query)
			if filling, err := tree.Compare(a, b, tree.Rule{Column: "kf_id"}); err != nil || filling.Inserts != 0 {
				t.Errorf("%s: Compare(%q, itself) = %v, %v", d, query, filling, err)
			}
		}
	})
}
