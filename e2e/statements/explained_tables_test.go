package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// explainedTables are tables of each engine that decide what the text leaves open, with
// texts and their outcomes.
var explainedTables = []struct {
	harness.Engine
	tables []string
	joined bool
	texts  map[string]string // the action by the text
}{
	{harness.MySQLDefault, []string{
		"CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a DECIMAL(20,10), b DATE)",
		"CREATE TABLE u (id BIGINT PRIMARY KEY, a DECIMAL(20,10), b DATE)",
		"CREATE TABLE v (a BIGINT, b VARCHAR(10), c DOUBLE)",
		"CREATE VIEW w AS SELECT a / 3 AS a FROM v",
		"INSERT INTO v VALUES (1, 'x', 0.1), (2, 'y', 0.3)",
	}, false, map[string]string{
		"INSERT INTO t (a) SELECT a / 3 FROM v":                                        "fill",
		"INSERT INTO t (a) SELECT a FROM w":                                            "fill",
		"INSERT IGNORE INTO t (a) SELECT a / 3 FROM v":                                 "refuse",
		"INSERT IGNORE INTO t (a) SELECT c / 3 FROM v":                                 "refuse",
		"INSERT INTO u (a) SELECT a / 3 FROM v":                                        "refuse",
		"INSERT INTO u (a) SELECT c / 3 FROM v":                                        "refuse",
		"INSERT INTO u (a) SELECT a FROM w":                                            "refuse",
		"INSERT INTO u (a) SELECT a FROM v":                                            "fill",
		"INSERT INTO u SELECT NULL, a, NULL FROM v":                                    "keep",
		"INSERT INTO u VALUES (NULL, 1, NULL)":                                         "fill",
		"INSERT INTO u VALUES (7, 1, NULL)":                                            "keep",
		`INSERT INTO u (b) VALUES ("2026-01-01")`:                                      "fill",
		"INSERT INTO t (a) VALUES (1) RETURNING id":                                    "fill",
		"INSERT INTO t (a) VALUES (1); INSERT INTO u (a) VALUES (2)":                   "fill",
		"SET STATEMENT max_statement_time=9 FOR INSERT INTO t (a) SELECT a / 3 FROM v": "fill",
	}},
	{harness.MySQLDefault, []string{
		"CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)", "CREATE TABLE u (id BIGINT AUTO_INCREMENT PRIMARY KEY, a BIGINT)",
		"CREATE TABLE v (a BIGINT, c DOUBLE)",
	}, true, map[string]string{
		"INSERT INTO t (a) VALUES (1)":                               "fill",
		"INSERT INTO t (a) VALUES (1); INSERT INTO u (a) VALUES (2)": "refuse",
		"INSERT INTO t (a) SELECT a FROM v":                          "fill",
		"INSERT INTO t (a) SELECT c / 3 FROM v":                      "refuse",
		"INSERT INTO u (a) SELECT c / 3 FROM v":                      "fill",
		"INSERT IGNORE INTO t (a) VALUES (1)":                        "refuse",
	}},
	{harness.PgxDefault, []string{
		"CREATE TYPE pair AS (x bigint, y bigint)",
		"CREATE TABLE t (id bigint PRIMARY KEY, a bigint, p pair)", "CREATE TABLE u (id bigint PRIMARY KEY, a bigint, p bigint)",
		"CREATE TABLE log (a bigint)", "CREATE RULE r AS ON INSERT TO u DO ALSO INSERT INTO log VALUES (NEW.a)",
	}, false, map[string]string{
		"INSERT INTO t (a) VALUES (unnest(ARRAY[1, 2]))":               "fill",
		"INSERT INTO u (a) VALUES (unnest(ARRAY[1, 2]))":               "refuse",
		"INSERT INTO t (a, p) VALUES (unnest(ARRAY[1, 2]), ROW(1, 2))": "refuse",
		"INSERT INTO u (a) VALUES (1)":                                 "fill",
		"INSERT INTO t VALUES (DEFAULT, 1)":                            "fill",
		"INSERT INTO t (a) VALUES (1); INSERT INTO u (a) VALUES (2)":   "fill",
		`INSERT INTO t (a) SELECT a FROM log WHERE 'a\' <> 'b'`:        "fill",
	}},
	{harness.SQLiteFile, []string{
		"CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT IGNORE)", "CREATE TABLE u (id INTEGER PRIMARY KEY, a)",
	}, true, map[string]string{
		"INSERT INTO t (a) VALUES (1)":                               "refuse",
		"INSERT INTO u (a) VALUES (1)":                               "fill",
		"INSERT INTO u VALUES (NULL, 1)":                             "fill",
		"INSERT INTO u (a) VALUES (1); INSERT INTO u (a) VALUES (1)": "refuse",
	}},
}

// TestExplainedTables: where a table decides, an explanation on its database says what the
// driver does.
func TestExplainedTables(t *testing.T) {
	t.Parallel()
	for _, one := range explainedTables {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			s := one.Scratch(t)
			for _, query := range one.tables {
				harness.Exec(t, s.Raw, query)
			}
			source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, OnBehind: "advance", Start: 1}
			if one.joined {
				source.Transaction = policy.TransactionJoined
			}
			cfg := func() *policy.Config {
				t, u := source, source
				return &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &t}, "u": {Column: "id", InPlace: &u}}}
			}
			c, err := keyfill.WrapConnector(explain.Database{Connector: s.Connector}, keyfill.Options{Policy: cfg()})
			if err != nil {
				t.Fatal(err)
			}
			x, err := explain.On(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			d := drive(t, s, cfg())
			for text, want := range one.texts {
				ex, err := x.Explain(text)
				if err != nil || ex.Action != want {
					t.Errorf("%s: explained as %+v, %v; want %s", text, ex, err, want)
				}
				compareExplained(t, s, goldenCase{name: text, in: text}, "", &plans.Plan{}, ex, d)
			}
		})
	}
}
