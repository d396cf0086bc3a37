package trial_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/parsers"
	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/judge/trial"
	"github.com/keyfill/keyfill/rewrite"
)

var dialects = []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"}

// court returns a court for the answers of explain, keyfill's for nil.
func court(t *testing.T, dialect string, explain trial.Explain) *trial.Court {
	t.Helper()
	var c *trial.Court
	var err error
	if explain == nil {
		c, err = trial.New(dialect, trial.UUIDs)
	} else {
		c, err = trial.NewWith(dialect, explain)
	}
	if errors.Is(err, parsers.ErrNoCompiler) && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestKeyfill(t *testing.T) {
	queries := []struct {
		query, action string
		kind          tree.Kind
	}{
		{"INSERT INTO t (a, b) VALUES (1, 'x')", "fill", tree.KindValues},
		{"/* c */ insert into t(a)values((1+(2)))", "fill", tree.KindValues},
		{"INSERT INTO t VALUES (1)", "refuse", tree.KindUnlisted},
		{"SELECT a FROM t", "pass", tree.KindOther},
		{"UPDATE t SET a = 1", "pass", tree.KindOther},
	}
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			c := court(t, d, nil)
			for _, q := range queries {
				v := c.Try(q.query)
				if v.Wrong != "" || v.Missed || v.Action != q.action || v.Kind != q.kind || v.Judge == trial.Nobody {
					t.Errorf("Try(%q) = %+v", q.query, v)
				}
			}
		})
	}
}

const (
	mutantQuery = "INSERT INTO t (a) /* c */ VALUES ('x y'), ('z')"
	mutantFill  = "INSERT INTO t (a, kf_id) /* c */ VALUES ('x y', " + key1 + "), ('z', " + key2 + ")"
	key1        = "'01900000-0000-7000-8000-000000000001'"
	key2        = "'01900000-0000-7000-8000-000000000002'"
)

// TestMutants gives each court a right fill, spoiled in one way.
func TestMutants(t *testing.T) {
	mutants := []struct{ name, out, in string }{ // out is what takes the place of in
		{"in the wrong column", key1 + ", 'x y'", "'x y', " + key1},
		{"the columns exchanged", "(kf_id, a)", "(a, kf_id)"},
		{"two values", key1 + ", " + key2, key1},
		{"two columns", ", kf_id, kf_id", ", kf_id"},
		{"no key in a row", "", ", " + key2},
		{"no column", "", ", kf_id"},
		{"another column", "kf_ix", "kf_id"},
		{"a changed literal", "'x  y'", "'x y'"},
		{"a changed name", "(A", "(a"},
		{"a changed table", "INTO u", "INTO t"},
		{"a changed word", "insert", "INSERT"},
		{"a lost comment", "", "/* c */ "},
		{"a lost row", "", ", ('z', " + key2 + ")"},
		{"rows exchanged", "'z', " + key1 + "), ('x y'", "'x y', " + key1 + "), ('z'"},
		{"one key twice", key1, key2},
		{"no key", "NULL", key1},
		{"an expression", key1 + " || 'x'", key1},
		{"a placeholder", "?", key1},
		{"something else", "'x01900000'", key1},
		{"nothing filled", mutantQuery, mutantFill},
		{"no SQL", "))", ")"},
		{"another statement", mutantFill + "; DELETE FROM t", mutantFill},
		{"a clause", key2 + ") RETURNING a", key2 + ")"},
	}
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			answer := explain.Explanation{Action: "fill", SQL: mutantFill, Literal: true}
			c := court(t, d, func(string) (explain.Explanation, error) { return answer, nil })
			if v := c.Try(mutantQuery); v.Wrong != "" || v.Judge == trial.Nobody {
				t.Errorf("%q is right: %+v", mutantFill, v)
			}
			for _, m := range mutants {
				answer.SQL = strings.Replace(mutantFill, m.in, m.out, 1)
				if answer.SQL == mutantFill {
					t.Fatalf("%s: nothing is spoiled", m.name)
				}
				if v := c.Try(mutantQuery); v.Wrong == "" {
					t.Errorf("%s: Try says nothing of %q: %+v", m.name, answer.SQL, v)
				}
			}
		})
	}
}

// TestWrongAnswers is about what is wrong with an answer that is no fill, or
// with what it says of itself.
func TestWrongAnswers(t *testing.T) {
	one, two := 1, 2
	cases := []struct {
		name, dialect, query string
		answer               explain.Explanation
		wrong                bool
	}{
		{"passed, changed", "postgres", "SELECT 1", explain.Explanation{Action: "pass", SQL: "SELECT 1 "}, true},
		{"refused, changed", "sqlite", "INSERT INTO t VALUES (1)", explain.Explanation{Action: "refuse", SQL: "INSERT INTO t VALUES (1);"}, true},
		{"an INSERT passed", "mysql", "INSERT INTO t (a) VALUES (1)", explain.Explanation{Action: "pass"}, true},
		{"an INSERT kept", "oracle", "INSERT INTO t (a) VALUES (1)", explain.Explanation{Action: "keep"}, true},
		{"an INSERT with its key kept", "oracle", "INSERT INTO t (a, kf_id) VALUES (1, 2)", explain.Explanation{Action: "keep"}, false},
		{"a bulk load passed", "postgres", "COPY t FROM STDIN", explain.Explanation{Action: "pass"}, true},
		{"a body passed", "sqlserver", "CREATE PROCEDURE p AS INSERT t (a) VALUES (1)", explain.Explanation{Action: "pass"}, false},
		{"a variable passed", "sqlserver", "INSERT @t (a) VALUES (1)", explain.Explanation{Action: "pass"}, false},
		{"half", "postgres", "INSERT INTO t (a) VALUES ($1); INSERT INTO t (a) VALUES ($2)",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES ($1, $3); INSERT INTO t (a) VALUES ($2)",
				Slots: []explain.Slot{{Arg: 3}}}, true},
		{"both", "postgres", "INSERT INTO t (a) VALUES ($1); INSERT INTO t (a) VALUES ($2)",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES ($1, $3); INSERT INTO t (a, kf_id) VALUES ($2, $4)",
				Slots: []explain.Slot{{Arg: 3}, {Arg: 4}}, Rows: &two}, false},
		{"a slot too high", "mysql", "INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = ?",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = ?",
				Slots: []explain.Slot{{Arg: 3}}}, true},
		{"the right slot", "mysql", "INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = ?",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = ?",
				Slots: []explain.Slot{{Arg: 2}}}, false},
		{"the right slot by place", "oracle", "INSERT INTO t (a) VALUES ('x') RETURNING a INTO :1",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, KF_ID) VALUES ('x', :2) RETURNING a INTO :1",
				Slots: []explain.Slot{{Arg: 1}}}, false},
		{"a slot missing", "sqlite", "INSERT INTO t (a) VALUES (?1)",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?1, ?2)"}, true},
		{"the caller's placeholder", "sqlite", "INSERT INTO t (a) VALUES (?1)",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?1, ?1)", Slots: []explain.Slot{{Arg: 1}}}, true},
		{"rows miscounted", "sqlserver", "INSERT INTO t (a) VALUES (@p1), (@p2)",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (@p1, @p3), (@p2, @p4)",
				Slots: []explain.Slot{{Arg: 3}, {Arg: 4}}, Rows: &one}, true},
		{"the key of SET behind RETURNING", "mariadb", "INSERT INTO t SET a = ? RETURNING a",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t SET a = ? RETURNING a, kf_id = ?", Slots: []explain.Slot{{Arg: 2}}}, true},
		{"a row alias with a name more", "mysql", "INSERT INTO t (a) VALUES (?) AS n (m) ON DUPLICATE KEY UPDATE a = m",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?, ?) AS n (m, k) ON DUPLICATE KEY UPDATE a = m",
				Slots: []explain.Slot{{Arg: 2}}}, false},
		{"a row alias without", "mysql", "INSERT INTO t (a) VALUES (?) AS n (m) ON DUPLICATE KEY UPDATE a = m",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) VALUES (?, ?) AS n (m) ON DUPLICATE KEY UPDATE a = m",
				Slots: []explain.Slot{{Arg: 2}}}, true},
		{"a query numbered", "postgres", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT x FROM u) SELECT c1, 0 - 1 + ROW_NUMBER() OVER () FROM kf", Literal: true}, false},
		{"a query numbered", "mysql", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT x FROM u) SELECT c1, 0 - 1 + ROW_NUMBER() OVER () FROM kf", Literal: true}, false},
		{"a query numbered", "sqlserver", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "WITH kf (c1) AS (SELECT x FROM u) INSERT INTO t (a, kf_id) SELECT c1, 0 - 1 + ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM kf", Literal: true}, false},
		{"a query changed", "postgres", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT x FROM v) SELECT c1, ROW_NUMBER() OVER () FROM kf", Literal: true}, true},
		{"a query's columns exchanged", "sqlite", "INSERT INTO t (a, b) SELECT x, y FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT x, y FROM u) SELECT c2, c1, ROW_NUMBER() OVER () FROM kf", Literal: true}, true},
		{"a query without its double rows", "postgres", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT DISTINCT x FROM u) SELECT kf.*, ROW_NUMBER() OVER () FROM kf", Literal: true}, true},
		{"a query without its double rows", "mysql", "INSERT INTO t (a) SELECT x FROM u",
			explain.Explanation{Action: "fill", SQL: "INSERT INTO t (a, kf_id) WITH kf (c1) AS (SELECT DISTINCT x FROM u) SELECT c1, ROW_NUMBER() OVER () FROM kf", Literal: true}, true},
	}
	for _, c := range cases {
		if c.answer.SQL == "" {
			c.answer.SQL = c.query
		}
		t.Run(c.dialect+" "+c.name, func(t *testing.T) {
			v := court(t, c.dialect, func(string) (explain.Explanation, error) { return c.answer, nil }).Try(c.query)
			if (v.Wrong != "") != c.wrong {
				t.Errorf("Try(%q) = %+v", c.query, v)
			}
		})
	}
}

func TestMissed(t *testing.T) {
	cases := []struct {
		dialect, query, reason string
		missed, apart          bool
	}{
		{"postgres", "INSERT INTO t (a) VALUES (1)", rewrite.ErrGrammar.Error(), true, false},
		{"postgres", "INSERT INTO t VALUES (1)", rewrite.ErrGrammar.Error(), true, false},
		{"postgres", "SELECT 1", rewrite.ErrGrammar.Error(), true, false},
		{"sqlite", "INSERT INTO t (a) VALUES (1)", "a reason that is new: do something", true, false},
		{"mysql", "INSERT INTO t (a) VALUES (1) RETURNING a", rewrite.ErrGrammar.Error(), true, true},
	}
	for _, c := range cases {
		t.Run(c.dialect+" "+c.query, func(t *testing.T) {
			v := court(t, c.dialect, func(q string) (explain.Explanation, error) {
				return explain.Explanation{Action: "refuse", SQL: q, Reason: c.reason}, nil
			}).Try(c.query)
			if v.Missed != c.missed || v.Apart != c.apart || v.Wrong != "" {
				t.Errorf("Try(%q) = %+v", c.query, v)
			}
		})
	}
}

// TestTrueReasons is about refusals of keyfill that hold.
func TestTrueReasons(t *testing.T) {
	cases := []struct{ dialect, query, reason string }{
		{"mysql", "INSERT INTO t (a) VALUES (1 /*! , 2 */)", "executable_comment"},
		{"postgres", "INSERT INTO t (a) OVERRIDING USER VALUE VALUES (1)", "user_value"},
		{"postgres", "INSERT INTO t SELECT 1", "no_column_list"},
		{"postgres", "PREPARE p AS INSERT INTO t (a) VALUES ($1)", "prepare"},
		{"sqlserver", "INSERT INTO t (a) EXEC p", "exec"},
		{"sqlite", "INSERT INTO t (a) VALUES (1) UNION SELECT 0", "select_form"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			v := court(t, c.dialect, nil).Try(c.query)
			if v.Action != "refuse" || v.Reason != trial.Reason(c.reason) || v.Missed || v.Wrong != "" {
				t.Errorf("%s: Try(%q) = %+v", c.dialect, c.query, v)
			}
		})
	}
}

func TestPanicIsWrong(t *testing.T) {
	v := court(t, "oracle", func(string) (explain.Explanation, error) { panic("no") }).Try("SELECT 1")
	if !strings.Contains(v.Wrong, "panic") {
		t.Errorf("Try = %+v", v)
	}
	v = court(t, "oracle", func(string) (explain.Explanation, error) { return explain.Explanation{}, errors.New("no") }).Try("SELECT 1")
	if v.Wrong != "no" {
		t.Errorf("Try = %+v", v)
	}
}

func TestUnknownDialect(t *testing.T) {
	if _, err := trial.New("klingon", trial.UUIDs); err == nil {
		t.Error("New takes any dialect")
	}
	if _, err := trial.New("oracle", "nonsense"); err == nil {
		t.Error("New takes any policy")
	}
}

// TestKeyfillOrder: a fill may write what a query orders by into its select list.
func TestKeyfillOrder(t *testing.T) {
	for _, d := range []string{"mysql", "mariadb"} {
		c, err := trial.New(d, trial.Integers)
		if errors.Is(err, parsers.ErrNoCompiler) && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, query := range []string{
			"INSERT INTO t (a) SELECT a FROM s ORDER BY b DESC, a",
			"INSERT IGNORE INTO t (a) SELECT a FROM s ORDER BY b + 1, c",
			"REPLACE INTO t (a, b) (SELECT a, b FROM s ORDER BY c)",
		} {
			if v := c.Try(query); v.Wrong != "" || v.Missed || v.Action != "fill" {
				t.Errorf("%s: Try(%q) = %+v", d, query, v)
			}
		}
	}
}

// TestKeyfillSet: a row of VALUES that stands for several is filled as a query is.
func TestKeyfillSet(t *testing.T) {
	c := court(t, "postgres", nil)
	v := c.Try("INSERT INTO t (a) VALUES (generate_series(1, 3))")
	if v.Wrong != "" || v.Missed || v.Action != "fill" {
		t.Errorf("%+v", v)
	}
}

// TestSetNumbered: such a row gets integer keys in the form of a query that selects its
// values, each for its column.
func TestSetNumbered(t *testing.T) {
	const (
		row  = "INSERT INTO t (a, b) VALUES (generate_series(1, $1), coalesce($2, 'x'))"
		kf   = "INSERT INTO t (a, b, kf_id) WITH kf (c1, c2) AS (SELECT generate_series(1, $1), coalesce($2, 'x')) SELECT kf.*, $3 + ROW_NUMBER() OVER () FROM kf"
		more = " RETURNING a"
	)
	c, err := trial.New("postgres", trial.Integers)
	if errors.Is(err, parsers.ErrNoCompiler) && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{row, row + more, "INSERT INTO t (a) VALUES (unnest(ARRAY[1, 2]))"} {
		if v := c.Try(query); v.Wrong != "" || v.Missed || v.Action != "fill" {
			t.Errorf("Try(%q) = %+v: %s", query, v, c.Answer(query))
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for in, out := range map[string]string{
		"":                            "",
		"coalesce($2, 'x')) S":        "$2) S",
		"generate_series(1, $1), coa": "coa",
		"generate_series(1, $1), coalesce($2, 'x')": "coalesce($2, 'x'), generate_series(1, $1)",
		"SELECT generate": "SELECT DISTINCT generate",
		"'x')) SELECT":    "'x') LIMIT 1) SELECT",
		"SELECT kf.*":     "SELECT c2, c1",
		"WITH kf (c1, c2) AS (SELECT generate_series(1, $1), coalesce($2, 'x')) SELECT kf.*, $3 + ROW_NUMBER() OVER () FROM kf": "SELECT generate_series(1, $1), coalesce($2, 'x'), $3",
	} {
		if !strings.Contains(kf, in) {
			t.Fatalf("%q is not in the fill", in)
		}
		answer := explain.Explanation{Action: "fill", SQL: strings.Replace(kf, in, out, 1), Slots: []explain.Slot{{Arg: 3}}}
		v := court(t, "postgres", func(string) (explain.Explanation, error) { return answer, nil }).Try(row)
		if (v.Wrong == "") != (in == "") {
			t.Errorf("Try(%q) = %+v for %q", row, v, answer.SQL)
		}
	}
}
