package main

import (
	"strings"
	"testing"
)

// TestPlanBeside: the plan to a sequence above the old one is refused where that would end
// for other columns, or where the engine numbers the column too.
func TestPlanBeside(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		const key = "BIGINT NOT NULL PRIMARY KEY"
		p.exec(t, "CREATE TABLE orders (id "+key+", who VARCHAR(20) NOT NULL)", "CREATE TABLE parts (id "+key+", who VARCHAR(20) NOT NULL)",
			"CREATE TABLE counted (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)", "CREATE TABLE unused (id "+key+", who VARCHAR(20) NOT NULL)",
			"CREATE TABLE spread (id "+key+", who VARCHAR(20) NOT NULL)")
		const source = "{kind: sequence, ensure_schema: true}"
		db := p.open(t, "orders: {column: id, source: "+source+"}\n  counted: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}\n"+
			"  parts: {column: id, source: shared}\n  articles: {column: id, source: shared}\n  spread: {column: id, source: {kind: recycled, ensure_schema: true}}\nsources:\n  shared: "+source)
		p.exec(t, "CREATE TABLE articles (id "+key+", who VARCHAR(20) NOT NULL)")
		for _, table := range []string{"orders", "counted", "parts", "articles", "spread"} {
			if _, err := db.Exec("INSERT INTO " + table + " (who) VALUES ('old')"); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		for table, want := range map[string]string{
			"parts": "numbers other columns too", "counted": "numbered by the engine too", "unused": "begin with keyfill plan there",
			"spread": "stop keyfill",
		} {
			r := keyfillRun(t, "", "plan", "change", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", table, "--column", "id", "--name", "new")
			if r.code != 1 || !strings.Contains(r.errOut, want) {
				t.Errorf("%s: exit code %d, %s; want %q", table, r.code, r.errOut, want)
			}
		}
		steps := p.steps(t, "change", "--table", "orders", "--column", "id", "--name", "new", "--gap", "5000")
		entry := p.execute(t, steps)[0]
		if _, err := p.open(t, entry).Exec("INSERT INTO orders (who) VALUES ('new')"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO orders (who) VALUES ('old')"); err != nil {
			t.Errorf("the old sequence: %v", err)
		}
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE who = 'new' AND id > 5000"); n != 1 {
			t.Errorf("%s does not begin above the gap", entry)
		}
		if n := p.count(t, "SELECT COUNT(*) FROM keyfill_sequences WHERE name LIKE '%orders.id' AND incarnation LIKE '%<5%'"); n != 1 {
			t.Error("the old sequence has no end")
		}
		r := keyfillRun(t, "", "plan", "there", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders", "--name", "new")
		if r.code != 2 {
			t.Errorf("--name with another plan: exit code %d, %s", r.code, r.errOut)
		}
	})
}

// TestPlanUUIDOfPartitions: the statements of the plan uuid run as they stand on a table with
// partitions, of which the engines make no unique index without their columns.
func TestPlanUUIDOfPartitions(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		switch p.driver {
		case "pgx":
			p.exec(t, "CREATE TABLE orders (id bigint NOT NULL, at date NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
				"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
				`CREATE TABLE "orders 2" PARTITION OF orders DEFAULT`)
		case "mysql":
			p.exec(t, "CREATE TABLE orders (id BIGINT NOT NULL, at DATE NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (YEAR(at)) (PARTITION p VALUES LESS THAN MAXVALUE)")
		default:
			return
		}
		var all []string
		for _, s := range p.steps(t, "uuid", "--table", "orders", "--column", "id") {
			p.exec(t, s.SQL...)
			all = append(all, s.SQL...)
		}
		text := strings.Join(all, "\n")
		if want := `ON "public"."orders 2" ("id_uuid")`; p.driver == "pgx" && !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	})
}
