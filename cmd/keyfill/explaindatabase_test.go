package main

import (
	"strings"
	"testing"
)

// TestExplainAsksDatabase: each engine tells the columns of its tables, and the setting by
// which a session reads text; without a database both leave the statement refused.
func TestExplainAsksDatabase(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		create, quoted := "CREATE TABLE orders (id BIGINT PRIMARY KEY, %to tal% BIGINT, note VARCHAR(20))", `"`
		if p.driver == "mysql" {
			quoted = "`"
		}
		p.exec(t, strings.ReplaceAll(create, "%", quoted))
		config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  orders: {column: id, source: {kind: sequence}}\n  \"log_*\": {column: id}\n  nosuch: {column: id}\n")
		args := []string{"explain", "--config", config, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN"}
		out := keyfillOut(t, "", append(args, `INSERT INTO orders VALUES (NULL, 7, 'a'); INSERT INTO orders VALUES (8, 7, 'a')`)...)
		for _, want := range []string{"action  fill", "insert  1 of 2: fill", "insert  2 of 2: keep", " (" + quoted + "id" + quoted + ", " + quoted + "to tal" + quoted + ", "} {
			if !strings.Contains(out, want) {
				t.Errorf("%s has no %q", out, want)
			}
		}
		// A backslash in a string needs the setting, and nothing else does.
		out = keyfillOut(t, "", append(args, `INSERT INTO orders (note) VALUES ('a\'), ('b')`)...)
		if p.driver == "mysql" { // the string goes on behind the backslash
			if strings.Contains(out, "action  fill") {
				t.Errorf("a string without an end: %s", out)
			}
		} else if !strings.Contains(out, "action  fill") || !strings.Contains(out, "rows    2") {
			t.Errorf("a backslash: %s", out)
		}
		// Nothing was executed.
		out = keyfillOut(t, "", append(args, `DROP TABLE orders`)...)
		if !strings.HasPrefix(out, "action  pass") {
			t.Error(out)
		}
		p.exec(t, "INSERT INTO orders VALUES (1, 1, 'a')")
	})
}
