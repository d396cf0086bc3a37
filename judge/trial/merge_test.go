package trial_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/trial"
	"github.com/keyfill/keyfill/rewrite"
)

// TestFilledForms: keyfill's own answers to MERGE, INSERT ALL and DEFAULT VALUES after a
// column list are right to all judges.
func TestFilledForms(t *testing.T) {
	cases := []struct{ dialect, query string }{
		{"postgres", "MERGE INTO t USING (SELECT $1 AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)"},
		{"postgres", "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN NOT MATCHED AND s.a > 2 THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED THEN INSERT DEFAULT VALUES"},
		{"postgres", "MERGE INTO t USING (VALUES (1), (2)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) RETURNING t.*"},
		{"postgres", `MERGE INTO t USING (VALUES ($1, 'x'), ($2, 'y')) AS "S" ("A", b) ON t.a = "S"."A" WHEN NOT MATCHED AND b > 'x' THEN INSERT (a) VALUES ("S"."A") WHEN NOT MATCHED THEN INSERT (a, b) VALUES ("S"."A", b)`},
		{"sqlserver", "MERGE t USING (SELECT @a AS a) AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);"},
		{"sqlserver", "MERGE t WITH (HOLDLOCK) AS x USING (VALUES (@p1, 1), (@p2, 2)) AS s (a, b) ON x.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b) OUTPUT $action;"},
		{"sqlserver", "INSERT INTO t (a, b) DEFAULT VALUES"},
		{"oracle", "MERGE INTO t USING (SELECT :1 a FROM dual) s ON (t.a = s.a) WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, :2) WHERE s.a > :3"},
		{"oracle", "MERGE INTO t USING (VALUES (:1, 1), (:2, 2)) s (a, b) ON (t.a = s.a) WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)"},
		{"oracle", "INSERT ALL INTO t (a) VALUES (:1) INTO u (b, c) VALUES (:2, 3) SELECT * FROM dual"},
		{"oracle", "INSERT FIRST WHEN a > 1 THEN INTO t (a) VALUES (a) ELSE INTO u (b) VALUES (a) SELECT :1 a FROM dual"},
	}
	for _, c := range cases {
		t.Run(c.dialect+" "+c.query, func(t *testing.T) {
			court := court(t, c.dialect, nil)
			if v := court.Try(c.query); v.Action != "fill" || v.Wrong != "" || v.Judge == trial.Nobody {
				t.Errorf("%q: %+v", court.Answer(c.query), v)
			}
		})
	}
}

const (
	mergeQuery = "MERGE INTO t USING (VALUES (1, 'x'), (2, 'y')) AS s (a, b) ON t.a = s.a " +
		"WHEN NOT MATCHED AND s.a > 1 THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b);"
	mergeFill = "MERGE INTO t USING (VALUES (1, 'x', " + key1 + "), (2, 'y', " + key2 + ")) AS s (a, b, k) ON t.a = s.a " +
		"WHEN NOT MATCHED AND s.a > 1 THEN INSERT (a, kf_id) VALUES (s.a, s.k) WHEN NOT MATCHED THEN INSERT (a, b, kf_id) VALUES (s.a, s.b, s.k);"
)

// TestMergeMutants gives courts a right fill of a MERGE, spoiled in one way.
func TestMergeMutants(t *testing.T) {
	mutants := []struct{ name, out, in string }{ // out is what takes the place of in
		{"another column of the source", "s.b, s.b)", "s.b, s.k)"},
		{"another table", "t.k)", "s.k)"},
		{"the values exchanged", "s.k, s.a)", "s.a, s.k)"},
		{"an expression", "s.k + 1)", "s.k)"},
		{"an expression of columns", "s.k + s.a)", "s.k)"},
		{"a key for all rows", key1 + ")", "s.k)"},
		{"no key in a row", "'y')", "'y', " + key2 + ")"},
		{"one key twice", key1, key2},
		{"no key", "NULL", key1},
		{"a key in front", "(" + key1 + ", 'x', 1)", "(1, 'x', " + key1 + ")"},
		{"no name", "(a, b)", "(a, b, k)"},
		{"a name twice", "(a, b, b)", "(a, b, k)"},
		{"the names exchanged", "(a, k, b)", "(a, b, k)"},
		{"one INSERT left out", "(a) VALUES (s.a)", "(a, kf_id) VALUES (s.a, s.k)"},
		{"a changed value", "(3, 'y'", "(2, 'y'"},
		{"a changed condition", "s.a > 2", "s.a > 1"},
		{"a row more", "), (2, 'y', '01900000-0000-7000-8000-000000000003')) AS", ")) AS"},
	}
	for _, d := range []string{"postgres", "sqlserver", "oracle"} {
		t.Run(d, func(t *testing.T) {
			answer := explain.Explanation{Action: "fill", SQL: mergeFill, Literal: true}
			c := court(t, d, func(string) (explain.Explanation, error) { return answer, nil })
			if v := c.Try(mergeQuery); v.Wrong != "" || v.Judge == trial.Nobody {
				t.Errorf("%q is right: %+v", mergeFill, v)
			}
			for _, m := range mutants {
				answer.SQL = strings.Replace(mergeFill, m.in, m.out, 1)
				if answer.SQL == mergeFill {
					t.Fatalf("%s: nothing is spoiled", m.name)
				}
				if v := c.Try(mergeQuery); v.Wrong == "" {
					t.Errorf("%s: Try says nothing of %q: %+v", m.name, answer.SQL, v)
				}
			}
		})
	}
}

// TestPerStatement: a reason that an explanation gives is known by its word.
func TestPerStatement(t *testing.T) {
	query := "INSERT INTO t (kf_id) VALUES (?); INSERT INTO t (kf_id) VALUES (?)"
	v := court(t, "sqlite", nil).Try(query)
	if v.Action != "refuse" || v.Reason != trial.Reason(rewrite.ErrPerStatement) || v.Missed || v.Wrong != "" {
		t.Errorf("Try(%q) = %+v", query, v)
	}
}
