package trial

import (
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/tree"
)

// own are INSERTs into what a session of SQL Server has for itself, to which no pattern
// applies.
var own = []string{
	"INSERT #t (a) VALUES (1)",
	"INSERT INTO tempdb..[#t] SELECT 1",
	"INSERT INTO ##t (a) EXEC p",
	"INSERT @t (a) VALUES (1)",
	"WITH y AS (SELECT 2 AS c) INSERT INTO #t SELECT * FROM y",
	"CREATE TABLE #t (a int) INSERT #t VALUES (1) INSERT INTO #t (a) VALUES (2)",
	"MERGE #t USING t ON t.a = #t.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);",
	"MERGE @t AS x USING t ON t.a = x.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);",
}

// TestSessionTables: keyfill passes those, and any other answer is no good.
func TestSessionTables(t *testing.T) {
	for _, query := range own {
		v := try(t, nil, query)
		if v.Action != "pass" || v.Wrong != "" || v.Missed || v.Kind != tree.KindNoTable {
			t.Errorf("Try(%q) = %+v", query, v)
		}
		v = try(t, &explain.Explanation{Action: "refuse", SQL: query, Reason: "there is no column list: write one"}, query)
		if !v.Missed {
			t.Errorf("refused: Try(%q) = %+v", query, v)
		}
	}
	for query, filled := range map[string]string{
		"INSERT #t (a) VALUES (1)":                              "INSERT #t (a, kf_id) VALUES (1, " + aKey + ")",
		"INSERT #t (a) VALUES (1) INSERT INTO t (a) VALUES (1)": "INSERT #t (a, kf_id) VALUES (1, " + aKey + ") INSERT INTO t (a) VALUES (1)",
	} {
		if v := try(t, &explain.Explanation{Action: "fill", SQL: filled, Literal: true}, query); v.Wrong == "" {
			t.Errorf("filled: Try(%q) = %+v", query, v)
		}
	}
	both := "INSERT #t (a) VALUES (1) INSERT INTO t (a) VALUES (1)"
	if v := try(t, nil, both); v.Action != "fill" || v.Wrong != "" {
		t.Errorf("Try(%q) = %+v", both, v)
	}
	for _, query := range []string{
		"INSERT t# (a) VALUES (1)", "INSERT [#s].t (a) VALUES (1)", "INSERT t (a) SELECT a FROM #t", both,
		"MERGE t USING #t AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1);",
	} {
		if v := try(t, &explain.Explanation{Action: "pass", SQL: query}, query); v.Wrong == "" {
			t.Errorf("passed: Try(%q) = %+v", query, v)
		}
	}
}

const aKey = "'01900000-0000-7000-8000-000000000001'"

// try judges an answer about SQL Server, keyfill's for nil.
func try(t *testing.T, answer *explain.Explanation, query string) Verdict {
	t.Helper()
	c, err := New("sqlserver", UUIDs)
	if answer != nil {
		c, err = NewWith("sqlserver", func(string) (explain.Explanation, error) { return *answer, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	v := c.Try(query)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTemporaries(t *testing.T) {
	for query, want := range map[string]int{
		"CREATE TEMP TABLE a (b INT); INSERT INTO a VALUES (1); INSERT INTO c VALUES (2)":            1,
		"create temporary table if not exists `a` (b int); replace into a values (1)":                1,
		"INSERT INTO a VALUES (1); CREATE TEMPORARY TABLE a (b INT)":                                 0,
		"CREATE TABLE a (b INT); INSERT INTO a VALUES (1)":                                           0,
		"CREATE TEMP TABLE a (b INT); INSERT INTO a VALUES (1); INSERT OR IGNORE INTO a VALUES (2);": 2,
	} {
		if got := temporaries(query); got != want {
			t.Errorf("temporaries(%q) = %d, want %d", query, got, want)
		}
	}
}
