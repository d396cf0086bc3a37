package main

import (
	"strings"
	"testing"
)

// explainOn returns what explain prints of statements on a database by the tables of a
// policy.
func (p *planned) explainOn(t *testing.T, tables string, args ...string) string {
	t.Helper()
	t.Setenv("KEYFILL_TEST_DSN", p.dsn)
	config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n"+tables)
	return keyfillOut(t, "", append([]string{"explain", "--config", config, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN"}, args...)...)
}

// lacks returns what a text lacks.
func lacks(text string, all ...string) (missing []string) {
	for _, one := range all {
		if !strings.Contains(text, one) {
			missing = append(missing, one)
		}
	}
	return missing
}

// TestExplainAsksDatabase: each engine returns the columns of its tables, and the setting
// by which a session reads text; without a database both leave the statement refused.
func TestExplainAsksDatabase(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		create, quoted := "CREATE TABLE orders (id BIGINT PRIMARY KEY, %to tal% BIGINT, note VARCHAR(20))", `"`
		if p.driver == "mysql" {
			quoted = "`"
		}
		p.exec(t, strings.ReplaceAll(create, "%", quoted))
		const tables = "  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 1}}\n  \"log_*\": {column: id}\n  nosuch: {column: id}\n"
		file := writeFile(t, "all.sql", "INSERT INTO orders VALUES (NULL, 7, 'a');\nINSERT INTO orders VALUES (8, 7, 'a');\n")
		out := p.explainOn(t, tables, "-f", file)
		if missing := lacks(out, "action  fill", "action  keep", quoted+"id"+quoted, quoted+"to tal"+quoted+", "); missing != nil {
			t.Errorf("%s has no %q", out, missing)
		}
		// The driver does not know what a text of two statements does to the columns.
		out = p.explainOn(t, tables, `INSERT INTO orders VALUES (NULL, 7, 'a'); INSERT INTO orders VALUES (8, 7, 'a')`)
		if missing := lacks(out, "action  refuse", "no column list"); missing != nil {
			t.Errorf("%s has no %q", out, missing)
		}
		// A backslash in a string needs the setting, and nothing else does.
		out = p.explainOn(t, tables, `INSERT INTO orders (note) VALUES ('a\'), ('b')`)
		if p.driver == "mysql" { // the string goes on after the backslash
			if strings.Contains(out, "action  fill") {
				t.Errorf("a string without an end: %s", out)
			}
		} else if missing := lacks(out, "action  fill", "rows    2"); missing != nil {
			t.Errorf("a backslash: %s has no %q", out, missing)
		}
		// A statement that is explained is not executed, and the tables of states are not made.
		if out = p.explainOn(t, tables, `DROP TABLE orders`); !strings.HasPrefix(out, "action  pass") {
			t.Error(out)
		}
		p.exec(t, "INSERT INTO orders VALUES (1, 1, 'a')")
		if _, err := p.raw.Exec("SELECT 1 FROM keyfill_sequences"); err == nil {
			t.Error("an explanation has made the tables of states")
		}
	})
}

// TestExplainAsDriven: the server's version decides what makes the keys of a query's rows,
// also where the newest version could do more.
func TestExplainAsDriven(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE people (id CHAR(36) PRIMARY KEY, name VARCHAR(40))")
		const insert = "INSERT INTO people (name) SELECT name FROM people"
		out := p.explainOn(t, "  people: {column: id, source: uuidv7}\n", insert)
		want := map[string]string{"sqlite": "WITH kf", "mysql": "UUID_SHORT()", "pgx": "WITH kf"}[p.driver]
		_, sent, _ := strings.Cut(strings.ToLower(out), "\nsent ")
		if missing := lacks(out, "action  fill", want); missing != nil || strings.Contains(sent, "uuid_v7()") || strings.Contains(sent, "uuidv7()") {
			t.Errorf("uuidv7: %s has no %q", out, missing)
		}
		want = map[string]string{"sqlite": "action  refuse", "mysql": "action  refuse", "pgx": "gen_random_uuid()"}[p.driver]
		out = p.explainOn(t, "  people: {column: id, source: uuidv4}\n", insert)
		if missing := lacks(out, want); missing != nil {
			t.Errorf("uuidv4: %s has no %q", out, missing)
		}
		if p.driver != "sqlite" && len(lacks(out, "depends on the version of the server (")) > 0 {
			t.Errorf("uuidv4: %s says nothing of the version", out)
		}
	})
}

// TestExplainInvisible: a key column that an INSERT without a column list does not see
// leaves the other statements explained.
func TestExplainInvisible(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		if p.driver != "mysql" {
			return // MySQL and MariaDB alone have INVISIBLE columns
		}
		p.exec(t, "CREATE TABLE hidden (id BIGINT AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT)", "CREATE TABLE seen (id BIGINT PRIMARY KEY, a INT)")
		const tables = "  hidden: {column: id, source: {kind: sequence, exclusive: true}}\n  seen: {column: id, source: {kind: sequence}}\n"
		file := writeFile(t, "all.sql", "INSERT INTO hidden VALUES (1);\nINSERT INTO seen VALUES (DEFAULT, 1);\n")
		out := p.explainOn(t, tables, "-f", file)
		if missing := lacks(out, "INSERT INTO hidden (`a`, `id`) VALUES (1, LAST_INSERT_ID(1))", "INSERT INTO seen (`a`, `id`) VALUES (1, LAST_INSERT_ID(1))"); missing != nil {
			t.Errorf("%s has no %q", out, missing)
		}
	})
}

// TestExplainUnfit: a column that cannot hold its keys is an error of its INSERTs alone, and
// a store that cannot be reached is not asked.
func TestExplainUnfit(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id VARCHAR(5) PRIMARY KEY, a INT)", "CREATE TABLE flakes (id BIGINT PRIMARY KEY, a INT)")
		const tables = "  orders: {column: id, source: {kind: sequence}}\n" +
			"  flakes: {column: id, source: {kind: snowflake, store: none, worker_env: KEYFILL_TEST_NOT_SET}}\n"
		file := writeFile(t, "all.sql", "INSERT INTO orders (a) VALUES (1);\nINSERT INTO flakes (a) VALUES (1);\n")
		out := p.explainOn(t, tables, "-f", file)
		want := []string{"action  refuse", "action  fill", "table   flakes"}
		if p.driver == "sqlite" {
			want = want[1:] // it stores anything anywhere
		}
		if missing := lacks(out, want...); missing != nil {
			t.Errorf("%s has no %q", out, missing)
		}
	})
}
