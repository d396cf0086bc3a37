package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
)

// TestPlanSwapStopped: the files of the plan are stopped after each of their statements, and
// started again.
func TestPlanSwapStopped(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		for _, query := range []string{
			"CREATE TABLE a ({id}, note VARCHAR(20))",
			"CREATE TABLE b ({id}, a_id {int} NOT NULL, b_id {int}, note VARCHAR(20), CONSTRAINT to_a FOREIGN KEY (a_id) REFERENCES a (id) ON DELETE CASCADE, CONSTRAINT to_b FOREIGN KEY (b_id) REFERENCES b (id))",
			"INSERT INTO a (note) VALUES ('x'), ('y')",
			"INSERT INTO b (a_id, b_id, note) VALUES (2, NULL, 'y'), (1, 1, 'x'), (2, 2, 'y')",
		} {
			p.exec(t, p.inSwap(query))
		}
		for _, s := range p.planFiles(t, "uuid", "--all") {
			if !strings.HasSuffix(s.File, ".sql") {
				p.runStep(t, s)
				continue
			}
			text, err := os.ReadFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			for n := range lines {
				line := strings.TrimSpace(lines[n])
				if p.driver != "mysql" && !strings.HasPrefix(line, "COMMIT") && n%5 != 0 || p.driver == "mysql" && !strings.HasPrefix(line, "EXECUTE") {
					continue
				}
				if line == "COMMIT;" { // nothing of the file is stopped after it but what may be left out
					break
				}
				part := s.File + ".part"
				if err := os.WriteFile(part, []byte(strings.Join(lines[:n+1], "")), 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := p.client(t, part); err != nil {
					t.Fatalf("%s, stopped after line %d: %v: %s", s.File, n+1, err, out)
				}
			}
			p.runStep(t, s)
		}
		if n := p.rows(t, "SELECT COUNT(*) FROM b JOIN a ON a.id = b.a_id AND a.note = b.note"); n != 3 {
			t.Errorf("%d rows have their parent, want 3", n)
		}
		if n := p.rows(t, "SELECT COUNT(*) FROM b JOIN b o ON o.id = b.b_id"); n != 2 {
			t.Errorf("%d rows have their row of the same table, want 2", n)
		}
		if bound := p.bound(t); !strings.Contains(bound, "a_id") || !strings.Contains(bound, "CASCADE") {
			t.Errorf("the foreign keys are gone:\n%s", bound)
		}
	})
}

// TestPlanSwapLeft: what cannot be swapped is left out of a plan of all tables, which says
// why, and refused where a table is named.
func TestPlanSwapLeft(t *testing.T) {
	common := [][2]string{
		{"CREATE TABLE {t} ({id}, half {int} GENERATED ALWAYS AS (id * 2) STORED)", "uses {t}.id"},
		{"CREATE TABLE {t} ({id}, CONSTRAINT {t}_c CHECK (id > 0))", "uses {t}.id"},
		{"CREATE TABLE {t} ({id}, id_old VARCHAR(20))", "has a column id_old already"},
		{"CREATE TABLE {t} ({id}); CREATE TABLE {t}_child (x {int} DEFAULT 1 REFERENCES {t} (id), CONSTRAINT {t}_f FOREIGN KEY (x) REFERENCES {t} (id))", "has the default 1"},
		{"CREATE TABLE {t} ({id}); CREATE TABLE {t}_too ({id}); CREATE TABLE {t}_child (x {int}, CONSTRAINT {t}_f FOREIGN KEY (x) REFERENCES {t} (id), CONSTRAINT {t}_g FOREIGN KEY (x) REFERENCES {t}_too (id))", "refers to "},
	}
	cases := map[string][][2]string{
		"sqlite": {common[1], common[2], common[3], common[4]},
		"mysql": {common[2], common[3], common[4],
			{"CREATE TABLE {t} ({id}) WITH SYSTEM VERSIONING", "WITH SYSTEM VERSIONING"},
			{"CREATE TABLE {t} ({id}) PARTITION BY HASH (id) PARTITIONS 2", "has partitions"},
			{"CREATE TABLE {t} ({id}); CREATE TABLE {t}_child (x {int}, y {int} GENERATED ALWAYS AS (x * 2), CONSTRAINT {t}_k CHECK (x > 0), CONSTRAINT {t}_f FOREIGN KEY (x) REFERENCES {t} (id))", "uses {t}_child.x"},
		},
		"pgx": append(common,
			[2]string{"CREATE TABLE {t} ({id}); CREATE VIEW {t}_view AS SELECT id FROM {t}", "view {t}_view uses {t}.id"},
			[2]string{"CREATE TABLE {t} ({id}); CREATE INDEX {t}_i ON {t} ((id + 1))", "index {t}_i uses {t}.id"},
			[2]string{"CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY) PARTITION BY RANGE (id)", "has partitions"},
			[2]string{"CREATE TABLE {t} ({id}); CREATE POLICY {t}_p ON {t} USING (id > 0)", "uses {t}.id"},
		),
	}
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, p.inSwap("CREATE TABLE planned ({id})"))
		var want []string
		for i, c := range cases[p.driver] {
			name := fmt.Sprintf("t%d", i)
			for _, query := range strings.Split(strings.ReplaceAll(c[0], "{t}", name), "; ") {
				if p.driver == "sqlite" {
					query = strings.ReplaceAll(query, "DEFAULT 1 REFERENCES "+name+" (id)", "DEFAULT 1")
				}
				p.exec(t, p.inSwap(query))
			}
			want = append(want, strings.ReplaceAll(c[1], "{t}", name))
		}
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		r := keyfillRun(t, "", "plan", "uuid", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--all")
		for i, text := range want {
			if r.code != 0 || !strings.Contains(r.out, text) {
				t.Errorf("the plan of all tables does not say %q (%s): exit code %d, %.2000s%s", text, cases[p.driver][i][0], r.code, r.out, r.errOut)
			}
			if strings.Contains(r.out, fmt.Sprintf(" t%d: {column: id, source: uuidv7}\n", i)) {
				t.Errorf("the plan has t%d", i)
			}
			one := keyfillRun(t, "", "plan", "uuid", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", fmt.Sprintf("t%d", i), "--table", "planned")
			if one.code != 1 || !strings.Contains(one.errOut, text) && !strings.Contains(one.errOut, "already") {
				t.Errorf("a plan of t%d: exit code %d, %.2000s%s", i, one.code, one.out, one.errOut)
			}
		}
		if !strings.Contains(r.out, " planned: {column: id, source: uuidv7}\n") {
			t.Errorf("the plan does not have the table without problems: %.2000s", r.out)
		}
	})
}

// TestPlanSwapKinds: what engines know about columns stays: numbering of other kinds, names
// that need quotes, tables of one name in two schemas, triggers, and columns that take the
// time of an UPDATE.
func TestPlanSwapKinds(t *testing.T) {
	tables := map[string][]string{
		"sqlite": {
			"CREATE TABLE [odd \"name\"] (\"the id\" INTEGER CONSTRAINT pk PRIMARY KEY ON CONFLICT ABORT AUTOINCREMENT, note TEXT COLLATE NOCASE DEFAULT 'a, (b' -- the note\n)",
			"CREATE TABLE strict (`id` INTEGER PRIMARY KEY, ref REFERENCES [odd \"name\"], note TEXT, FOREIGN KEY (ref) REFERENCES [odd \"name\"] (\"the id\") DEFERRABLE INITIALLY DEFERRED)",
			"CREATE TABLE log (note TEXT)",
			"CREATE VIEW seen AS SELECT s.note FROM strict s JOIN [odd \"name\"] o ON o.\"the id\" = s.ref",
			"CREATE TRIGGER logged AFTER INSERT ON strict BEGIN INSERT INTO log (note) VALUES (NEW.note); END",
			"INSERT INTO [odd \"name\"] (note) VALUES ('x')",
			"INSERT INTO strict (ref, note) VALUES (1, 'x'), (NULL, 'y')",
		},
		"mysql": {
			"CREATE TABLE `odd ``name\\` (`the id` INT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'it''s, (a) \\\\ key', note VARCHAR(20), PRIMARY KEY (`the id`), KEY `the id` (`the id`, note(3)))",
			"CREATE TABLE strict (id BIGINT AUTO_INCREMENT PRIMARY KEY, ref INT UNSIGNED COMMENT 'PRIMARY KEY (`ref`)', note VARCHAR(20), at TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP, CONSTRAINT `f``k` FOREIGN KEY (ref) REFERENCES `odd ``name\\` (`the id`) ON UPDATE CASCADE)",
			"CREATE TABLE log (note TEXT)",
			"CREATE VIEW seen AS SELECT s.note FROM strict s JOIN `odd ``name\\` o ON o.`the id` = s.ref",
			"CREATE TRIGGER logged AFTER INSERT ON strict FOR EACH ROW INSERT INTO log (note) VALUES (NEW.note)",
			"INSERT INTO `odd ``name\\` (note) VALUES ('x')",
			"INSERT INTO strict (ref, note) VALUES (1, 'x'), (NULL, 'y')",
		},
		"pgx": {
			"CREATE TABLE \"odd \"\"name\" (\"the id\" SERIAL PRIMARY KEY, note TEXT)",
			"CREATE SCHEMA other",
			"CREATE TABLE strict (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ref INT, note TEXT, CONSTRAINT \"f\"\"k\" FOREIGN KEY (ref) REFERENCES \"odd \"\"name\" DEFERRABLE INITIALLY DEFERRED)",
			"CREATE TABLE other.strict (id BIGSERIAL PRIMARY KEY, ref INT REFERENCES public.\"odd \"\"name\", note TEXT)",
			"CREATE INDEX some_notes ON strict (note) INCLUDE (ref) WHERE ref IS NOT NULL",
			"CREATE TABLE log (note TEXT)",
			"CREATE FUNCTION logged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log (note) VALUES (NEW.note); RETURN NEW; END'",
			"CREATE TRIGGER logged AFTER INSERT ON strict FOR EACH ROW EXECUTE FUNCTION logged()",
			"INSERT INTO \"odd \"\"name\" (note) VALUES ('x')",
			"INSERT INTO strict (ref, note) VALUES (1, 'x'), (NULL, 'y')",
			"INSERT INTO other.strict (ref, note) VALUES (1, 'x')",
		},
	}
	odd := map[string]string{"sqlite": `"odd ""name"""`, "mysql": "`odd ``name\\`", "pgx": `"odd ""name"`}
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, tables[p.driver]...)
		if p.driver == "mysql" { // a table of that name in another database refers to this one too
			p.exec(t, "CREATE DATABASE swap_other", "CREATE TABLE swap_other.strict (id BIGINT AUTO_INCREMENT PRIMARY KEY, ref INT UNSIGNED, note VARCHAR(20), FOREIGN KEY (ref) REFERENCES `"+p.rowsText(t, "SELECT DATABASE()")+"`.`odd ``name\\` (`the id`))",
				"INSERT INTO swap_other.strict (ref, note) VALUES (1, 'x')")
			t.Cleanup(func() { p.exec(t, "DROP DATABASE swap_other") })
		}
		var last plan.Step
		for _, s := range p.planFiles(t, "uuid", "--all") {
			if p.driver == "mysql" && strings.HasSuffix(s.File, "fill-references.sql") {
				p.exec(t, "UPDATE strict SET at = '2020-01-01 00:00:00'")
			}
			p.runStep(t, s)
			if s.Policy != "" {
				last = s
			}
		}
		quoted := "`the id`"
		if p.driver != "mysql" {
			quoted = `"the id"`
		}
		refers := []string{"strict"}
		switch p.driver {
		case "mysql":
			refers = append(refers, "swap_other.strict")
		case "pgx":
			refers = append(refers, "other.strict")
		}
		for _, table := range refers {
			if n := p.rowsAsIs(t, fmt.Sprintf("SELECT COUNT(*) FROM %s s JOIN %s o ON o.%s = s.ref AND o.note = s.note", table, odd[p.driver], quoted)); n != 1 {
				t.Errorf("%d rows of %s have their parent, want 1", n, table)
			}
		}
		if p.driver == "mysql" {
			if n := p.rowsAsIs(t, "SELECT COUNT(*) FROM strict WHERE at <> '2020-01-01 00:00:00'"); n != 0 {
				t.Errorf("the time of %d rows was changed", n)
			}
			var name, text string
			if err := p.raw.QueryRow("SHOW CREATE TABLE "+odd[p.driver]).Scan(&name, &text); err != nil || !strings.Contains(text, "ascii_bin NOT NULL COMMENT 'it''s, (a) \\\\ key'") || !strings.Contains(text, "KEY `the id` (`the id`,`note`(3))") {
				t.Errorf("the table is\n%s", text)
			}
		}
		logged := p.rowsAsIs(t, "SELECT COUNT(*) FROM log")
		p.filledBy(t, last.File, fmt.Sprintf("INSERT INTO %s (note) VALUES ('z')", odd[p.driver]), "INSERT INTO strict (note) VALUES ('z')")
		if n := p.rowsAsIs(t, "SELECT COUNT(*) FROM log"); n != logged+1 {
			t.Errorf("the trigger has added %d rows", n-logged)
		}
	})
}

func (p *planned) rowsText(t *testing.T, query string) (text string) {
	t.Helper()
	if err := p.raw.QueryRow(query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func (p *planned) rowsAsIs(t *testing.T, query string) (n int) {
	t.Helper()
	if err := p.raw.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
