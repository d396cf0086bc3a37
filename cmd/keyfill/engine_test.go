package main

import (
	"strings"
	"testing"
)

// TestEngineAdvised: explain and plan say what the server, or the engine that the policy
// names, makes of the keys, and say nothing of the family's own engine.
func TestEngineAdvised(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)")
		const tables, insert = "  orders: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}\n", "INSERT INTO orders (who) VALUES ('a')"
		plan := func() string {
			return keyfillOut(t, "", "plan", "there", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders")
		}
		for _, out := range []string{p.explainOn(t, tables, insert), plan()} {
			if strings.Contains(out, "distributed.md") {
				t.Errorf("on the engine itself: %s", out)
			}
		}
		if p.driver == "sqlite" {
			return
		}
		name := map[string]string{"pgx": "Spanner", "mysql": "TiDB"}[p.driver]
		p.exec(t, map[string]string{
			"pgx":   "CREATE SCHEMA spanner_sys",
			"mysql": "CREATE FUNCTION tidb_version() RETURNS TEXT DETERMINISTIC NO SQL RETURN 'Release Version: v8.5.0\nEdition: Community'",
		}[p.driver])
		for _, out := range []string{p.explainOn(t, tables, insert), plan(), p.explainOn(t, tables+"engine: "+strings.ToLower(name)+"\n", insert)} {
			if !strings.Contains(out, "sequence on "+name+": ") || !strings.Contains(out, "docs/distributed.md") {
				t.Errorf("no advice: %s", out)
			}
		}
		if out := p.explainOn(t, tables, "SELECT 1"); strings.Contains(out, name) {
			t.Errorf("advice about a statement without keys: %s", out)
		}
	})
}
