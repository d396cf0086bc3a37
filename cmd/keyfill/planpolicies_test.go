package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
)

// found is a finding of keyfill check.
type found struct{ Severity, Rule, Table, Column, Message, Remedy string }

// check returns what keyfill check says of a policy, but for what is information.
func (p *planned) check(t *testing.T, text string) (all []found) {
	t.Helper()
	t.Setenv("KEYFILL_TEST_DSN", p.dsn)
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := keyfillRun(t, "", "check", "--json", "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")
	if r.out == "" && r.code != 0 {
		t.Fatalf("keyfill check of\n%s\n%s", text, r.errOut)
	}
	for d := json.NewDecoder(strings.NewReader(r.out)); ; {
		var one found
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v: %s", err, r.out)
		}
		if (one.Severity == "error" || one.Severity == "warning") && one.Rule != "nullable" { // a later step of plan uuid
			all = append(all, one)
		}
	}
}

// head is what stands above the tables of a policy for the database.
func (p *planned) head() string {
	if p.driver == "mysql" {
		return "version: 1\ndialect: mariadb\n"
	}
	return "version: 1\n"
}

// policyFile writes a policy with tables, and returns its path.
func (p *planned) policyFile(t *testing.T, tables string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte(p.head()+"tables:\n  "+tables+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// passes executes the steps of a plan one by one, and fails where keyfill check finds a
// fault of a policy when its step is reached. It returns the policies.
func (p *planned) passes(t *testing.T, steps []plan.Step) (policies []string) {
	t.Helper()
	for i, s := range steps {
		if s.Policy != "" {
			policies = append(policies, s.Policy)
			for _, one := range p.check(t, p.head()+"tables:\n  "+s.Policy+"\n") {
				t.Errorf("step %d prints %s, of which keyfill check says %+v", i+1, s.Policy, one)
			}
		}
		p.execute(t, steps[i:i+1])
	}
	return policies
}

// narrowSerial is a key column of 31 bits that the engine of a driver numbers.
var narrowSerial = map[string]string{
	"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "pgx": "SERIAL PRIMARY KEY",
}

// insert1 inserts a row into orders by a policy.
func (p *planned) insert1(t *testing.T, tables string) {
	t.Helper()
	if _, err := p.open(t, tables).Exec("INSERT INTO orders (who) VALUES ('keyfill')"); err != nil {
		t.Fatalf("%s: %v", tables, err)
	}
}

// TestPlannedPolicies: keyfill check finds no fault of a policy that a plan prints, on the
// database for which it was printed and with the statements of the steps before it executed.
func TestPlannedPolicies(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		fresh := func(t *testing.T, column string) {
			p.raw = p.open(t, "") // no statement of it is prepared
			p.exec(t, "DROP TABLE IF EXISTS parcels", "DROP TABLE IF EXISTS orders", "DROP TABLE IF EXISTS keyfill_sequences", "DROP TABLE IF EXISTS keyfill_workers", "DROP TABLE IF EXISTS keyfill_series",
				"CREATE TABLE orders (id "+column+", who VARCHAR(20) NOT NULL, tag CHAR(36) UNIQUE)", "INSERT INTO orders (who) VALUES ('before')")
		}
		for name, column := range map[string]string{"wide": serial[p.driver], "narrow": narrowSerial[p.driver]} {
			t.Run(name, func(t *testing.T) {
				fresh(t, column)
				p.exec(t, "CREATE TABLE parcels (no "+map[string]string{"sqlite": "INTEGER", "mysql": "INT", "pgx": "INT"}[p.driver]+" PRIMARY KEY, order_id "+
					map[string]string{"widesqlite": "INTEGER", "widemysql": "BIGINT", "widepgx": "BIGINT", "narrowsqlite": "INTEGER", "narrowmysql": "INT", "narrowpgx": "INT"}[name+p.driver]+
					" NOT NULL REFERENCES orders (id))")
				there := p.passes(t, p.steps(t, "there", "--table", "orders"))
				p.insert1(t, there[0])
				p.passes(t, p.steps(t, "handback", "--table", "orders"))
				stopped := p.passes(t, p.steps(t, "there", "--table", "orders", "--stopped"))
				p.insert1(t, stopped[0])
				p.passes(t, p.steps(t, "uuid", "--table", "orders")[:3])
			})
		}
		t.Run("with another key", func(t *testing.T) {
			fresh(t, narrowSerial[p.driver])
			there := p.execute(t, p.steps(t, "there", "--table", "orders"))[0]
			entry := strings.TrimSuffix(there, "}") + ", keys: [{column: tag, source: uuidv7}], unsupported: unfilled}"
			entry = strings.Replace(entry, "{kind: sequence,", "{kind: sequence, block: 7,", 1)
			p.insert1(t, entry)
			back := p.passes(t, p.steps(t, "handback", "--table", "orders", "--config", p.policyFile(t, entry)))
			if len(back) != 2 {
				t.Fatalf("the plan prints %q, want two policies", back)
			}
			for i, text := range back {
				if !strings.Contains(text, "column: tag") || !strings.Contains(text, "unsupported: unfilled") || strings.Contains(text, "block: 7") != (i == 0) {
					t.Errorf("the plan prints %s for %s", text, entry)
				}
				p.insert1(t, text)
			}
			if n := p.count(t, "SELECT COUNT(tag) FROM orders"); n != 3 {
				t.Errorf("%d rows have the other key, want 3", n)
			}
		})
		t.Run("named", func(t *testing.T) {
			fresh(t, serial[p.driver])
			file := filepath.Join(t.TempDir(), "keyfill.yaml")
			there := p.execute(t, p.steps(t, "there", "--table", "orders"))[0]
			_, source, _ := strings.Cut(strings.TrimSuffix(there, "}"), "source: ")
			text := "sources:\n  order_no: " + source + "\ntables:\n  'ord*': {column: id, source: order_no}\n"
			if err := os.WriteFile(file, []byte(p.head()+text), 0o644); err != nil {
				t.Fatal(err)
			}
			p.insert1(t, "orders: {column: id, source: order_no}\n"+strings.Split(text, "tables:")[0])
			back := p.passes(t, p.steps(t, "handback", "--table", "orders", "--config", file))
			for _, entry := range back {
				p.insert1(t, entry)
			}
			if !strings.Contains(back[0], "name: order_no") {
				t.Errorf("the plan prints %s for the state order_no", back[0])
			}
		})
		t.Run("alone", func(t *testing.T) {
			columns := []string{"BIGINT NOT NULL PRIMARY KEY", "INT NOT NULL PRIMARY KEY"}
			if p.driver == "sqlite" {
				columns = append(columns, "INTEGER PRIMARY KEY")
			}
			for _, column := range columns {
				fresh(t, "BIGINT NOT NULL PRIMARY KEY DEFAULT 0")
				p.exec(t, "DROP TABLE orders", "CREATE TABLE orders (id "+column+", who VARCHAR(20) NOT NULL)", "INSERT INTO orders (id, who) VALUES (7, 'before')")
				for _, args := range [][]string{nil, {"--stopped"}} {
					there := p.passes(t, p.steps(t, append([]string{"there", "--table", "orders", "--column", "id"}, args...)...))
					p.insert1(t, there[0])
				}
				if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE id > 7"); n != 2 {
					t.Errorf("%s: %d rows above the greatest key, want 2", column, n)
				}
			}
		})
		t.Run("owned", func(t *testing.T) {
			if p.driver == "sqlite" {
				return // SQLite cannot number a column that exists
			}
			fresh(t, "BIGINT NOT NULL PRIMARY KEY DEFAULT 0")
			p.insert1(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true}}")
			p.passes(t, p.steps(t, "change", "--table", "orders", "--column", "id", "--name", "new"))
			p.passes(t, p.steps(t, "handback", "--table", "orders", "--column", "id"))
		})
		t.Run("native", func(t *testing.T) {
			if p.driver == "sqlite" {
				return // SQLite has no sequences
			}
			p.raw = p.open(t, "")
			p.exec(t, "CREATE SEQUENCE numbers")
			draws := map[string]string{"mysql": "BIGINT NOT NULL DEFAULT NEXT VALUE FOR numbers PRIMARY KEY", "pgx": "BIGINT DEFAULT nextval('numbers') PRIMARY KEY"}[p.driver]
			if p.driver == "mysql" { // whose sequence of a default is not read
				fresh(t, draws)
				t.Setenv("KEYFILL_TEST_DSN", p.dsn)
				r := keyfillRun(t, "", "plan", "there", "--table", "orders", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")
				if r.code != 1 || !strings.Contains(r.errOut, "keyfill plan there --stopped") {
					t.Errorf("keyfill plan there: exit code %d, %s%s", r.code, r.out, r.errOut)
				}
				stopped := p.passes(t, p.steps(t, "there", "--table", "orders", "--stopped"))
				p.insert1(t, stopped[0])
			}
			for _, c := range []struct{ column, entry, insert string }{
				{draws, "{column: id, source: native}", "INSERT INTO orders (who) VALUES ('plain')"},
				{"BIGINT NOT NULL PRIMARY KEY", "{column: id, source: {kind: native, sequence: numbers}}", map[string]string{
					"mysql": "INSERT INTO orders (id, who) VALUES (NEXTVAL(numbers), 'plain')", "pgx": "INSERT INTO orders (who) VALUES ('plain')"}[p.driver]},
				{draws, "{column: id, source: native, keys: [{column: tag, source: uuidv7}]}", "INSERT INTO orders (who) VALUES ('plain')"},
			} {
				fresh(t, draws)
				if c.column != draws {
					p.exec(t, "DROP TABLE orders", "CREATE TABLE orders (id "+c.column+", who VARCHAR(20) NOT NULL)")
				}
				dialect := map[string]string{"mysql": "\ndialect: mariadb"}[p.driver]
				p.insert1(t, "orders: "+c.entry+dialect)
				steps := p.steps(t, "handback", "--table", "orders", "--column", "id", "--config", p.policyFile(t, "orders: "+c.entry))
				policies := p.passes(t, steps)
				if text := steps[len(steps)-1].Title; !strings.Contains(text, "is ahead already") || strings.Contains(c.entry, "keys:") != (len(policies) == 1) {
					t.Errorf("the plan for %s says %s, with %q", c.entry, text, policies)
				}
				p.exec(t, c.insert, c.insert)
			}
		})
		t.Run("change", func(t *testing.T) {
			for _, config := range []bool{false, true} {
				fresh(t, narrowSerial[p.driver])
				entry := "orders: {column: id, max_bits: 31, source: {kind: sequence, ensure_schema: true, exclusive: true}, keys: [{column: tag, source: uuidv7}]}"
				p.insert1(t, entry)
				args := []string{"change", "--table", "orders"}
				if config {
					args = append(args, "--config", p.policyFile(t, entry))
				}
				for _, text := range p.passes(t, p.steps(t, args...)) {
					if strings.Contains(text, "column: tag") != config {
						t.Errorf("the plan prints %s, with --config: %v", text, config)
					}
				}
			}
		})
	})
}
