package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
	"github.com/keyfill/keyfill/policy"
)

// showCreate returns how MariaDB shows a table.
func (p *planned) showCreate(t *testing.T, table string) string {
	t.Helper()
	var name, text string
	if err := p.raw.QueryRow("SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// onMariaDB runs f on an empty database of MariaDB.
func onMariaDB(t *testing.T, f func(t *testing.T, p *planned)) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		if p.driver == "mysql" {
			f(t, p)
		}
	})
}

// TestPlanKeeps: the plan bigint keeps all of the definition of a column of MariaDB but
// its width, whatever the sql_mode of the server hides.
func TestPlanKeeps(t *testing.T) {
	onMariaDB(t, func(t *testing.T, p *planned) {
		for _, c := range []struct{ column, want string }{
			{"id int unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'it''s, the (key)'", "`id` bigint(20) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'it''s, the (key)',"},
			{"id mediumint NULL DEFAULT 7 COMMENT 'the key' CHECK (id > 0)", "`id` bigint(20) DEFAULT 7 COMMENT 'the key' CHECK (`id` > 0),"},
			{"id smallint NOT NULL INVISIBLE DEFAULT 3", "`id` bigint(20) NOT NULL INVISIBLE DEFAULT 3,"},
		} {
			plain := p.dsn
			for _, mode := range []string{"", "NO_FIELD_OPTIONS", "ORACLE"} {
				p.exec(t, "DROP TABLE IF EXISTS orders", "CREATE TABLE orders ("+c.column+", who VARCHAR(20) NOT NULL, UNIQUE (id))")
				p.dsn = plain + "?sql_mode=%27" + mode + "%27"
				if strings.Contains(plain, "?") {
					p.dsn = plain + "&sql_mode=%27" + mode + "%27"
				}
				for _, s := range p.steps(t, "bigint", "--table", "orders", "--column", "id") {
					p.exec(t, s.SQL...)
				}
				p.dsn = plain
				if text := p.showCreate(t, "orders"); !strings.Contains(text, c.want) {
					t.Errorf("%q: want %s in\n%s", mode, c.want, text)
				}
			}
		}
	})
}

// TestPlanHandbackZero: the way back of a column that MariaDB did not number keeps a row
// whose key is 0, and all of the column's definition but its default.
func TestPlanHandbackZero(t *testing.T) {
	onMariaDB(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id bigint(20) NOT NULL DEFAULT 0 COMMENT 'the key', who VARCHAR(20) NOT NULL, PRIMARY KEY (id))",
			"INSERT INTO orders VALUES (0, 'zero')")
		db := p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true}}")
		if _, err := db.Exec("INSERT INTO orders (who) VALUES ('first')"); err != nil {
			t.Fatal(err)
		}
		p.execute(t, p.steps(t, "handback", "--table", "orders", "--column", "id"))
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE id = 0 AND who = 'zero'"); n != 1 {
			t.Error("the row of key 0 has another key")
		}
		if text := p.showCreate(t, "orders"); !strings.Contains(text, "`id` bigint(20) NOT NULL AUTO_INCREMENT COMMENT 'the key',") {
			t.Errorf("the column is another one:\n%s", text)
		}
		p.exec(t, "INSERT INTO orders (who) VALUES ('last')")
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE who = 'last' AND id > 1000000000"); n != 1 {
			t.Error("the engine does not number the column from above the gap")
		}
	})
}

// TestPlanHandbackTwice: the step by which MariaDB numbers a column again, run once more
// when the counter stands higher, does not lower it.
func TestPlanHandbackTwice(t *testing.T) {
	onMariaDB(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY COMMENT 'it''s a \\\\ key', who VARCHAR(20) NOT NULL)")
		db := p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true}}")
		if _, err := db.Exec("INSERT INTO orders (who) VALUES ('keyfill')"); err != nil {
			t.Fatal(err)
		}
		back := p.steps(t, "handback", "--table", "orders", "--column", "id")
		p.execute(t, back)
		if text := p.showCreate(t, "orders"); !strings.Contains(text, "AUTO_INCREMENT COMMENT 'it''s a \\\\ key',") {
			t.Errorf("the column is another one:\n%s", text)
		}
		p.exec(t, "ALTER TABLE orders AUTO_INCREMENT = 9000000000")
		p.execute(t, back)
		p.exec(t, "INSERT INTO orders (who) VALUES ('last')")
		if n := p.count(t, "SELECT id FROM orders WHERE who = 'last'"); n < 9000000000 {
			t.Errorf("the counter was lowered: the last row has the key %d", n)
		}
	})
}

// TestPlanLowersNothing: the statements that raise a counter leave one that stands higher
// by now where it is.
func TestPlanLowersNothing(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)", "INSERT INTO orders (who) VALUES ('before'), ('before')")
		there := p.steps(t, "there", "--table", "orders", "--gap", "50000")
		db := p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}")
		if _, err := db.Exec("INSERT INTO orders (who) VALUES ('keyfill')"); err != nil {
			t.Fatal(err)
		}
		back := p.steps(t, "handback", "--table", "orders", "--gap", "60000")
		p.exec(t, map[string]string{
			"sqlite": "UPDATE sqlite_sequence SET seq = 8999999999 WHERE name = 'orders'",
			"mysql":  "ALTER TABLE orders AUTO_INCREMENT = 9000000000",
			"pgx":    "SELECT setval('orders_id_seq', 8999999999)",
		}[p.driver])
		for _, steps := range [][]plan.Step{there, back} {
			p.execute(t, steps[:2])
		}
		p.exec(t, "INSERT INTO orders (who) VALUES ('last')")
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE who = 'last' AND id >= 9000000000"); n != 1 {
			t.Errorf("the counter was lowered: the last row has the key %d", p.count(t, "SELECT id FROM orders WHERE who = 'last'"))
		}
	})
}

// TestPlanOddNames: SQL and policies of the plans name a table and a column that need
// quotes.
func TestPlanOddNames(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		quote := `"`
		if p.driver == "mysql" {
			quote = "`"
		}
		table, key := quote+"Odd: 'Ta"+quote+quote+"ble.X"+quote, quote+"on"+quote
		kind := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "pgx": "SERIAL PRIMARY KEY"}[p.driver]
		p.exec(t, "CREATE TABLE "+table+" ("+key+" "+kind+", who VARCHAR(20) NOT NULL)", "INSERT INTO "+table+" (who) VALUES ('before')")
		insert := "INSERT INTO " + table + " (who) VALUES ('after')"
		runs := func(tables string) {
			t.Helper()
			if _, err := policy.Parse([]byte("version: 1\ntables:\n  " + tables + "\n")); err != nil {
				t.Fatalf("%s: %v", tables, err)
			}
			if _, err := p.open(t, tables).Exec(insert); err != nil {
				t.Errorf("%s: %v", tables, err)
			}
		}
		for _, kind := range []string{"there", "bigint", "handback"} {
			steps := p.steps(t, kind, "--table", table, "--column", key)
			if kind == "bigint" {
				steps[0].Check = "SELECT 1" // no foreign key refers to it
			}
			for _, policy := range p.execute(t, steps) {
				runs(policy)
			}
		}
		uuid := p.steps(t, "uuid", "--table", table, "--column", key)
		p.execute(t, uuid[:2])
		runs(uuid[1].Policy)
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		output(t, "backfill", "--config", config(t, uuid[1].Policy), "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", table, "--column", "on_uuid")
		p.execute(t, uuid[2:])
		if n := p.count(t, "SELECT COUNT(DISTINCT "+key+") FROM "+table); n < 5 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestPlanNearest: a missing table or column is reported with the nearest names.
func TestPlanNearest(t *testing.T) {
	p := &planned{driver: "sqlite", dsn: "file:" + t.TempDir() + "/t.db"}
	p.raw = p.open(t, "")
	p.exec(t, "CREATE TABLE orders (order_id INTEGER PRIMARY KEY AUTOINCREMENT)")
	for _, c := range []struct{ table, column, want string }{
		{"ordres", "", `did you mean "orders"?`},
		{"orders", "ordr_id", `did you mean "order_id"?`},
	} {
		r := keyfillRun(t, "", "plan", "there", "--driver", "sqlite", "--dsn", p.dsn, "--table", c.table, "--column", c.column)
		if r.code != 1 || !strings.Contains(r.errOut, c.want) {
			t.Errorf("%v: exit code %d, %s", c, r.code, fmt.Sprint(r.errOut))
		}
	}
}

// TestPlanShared: the way back knows a state that several tables share, and that has a
// row for each of its columns.
func TestPlanShared(t *testing.T) {
	for length, name := range map[string]string{"short": "numbers", "long": strings.Repeat("n", 185)} {
		t.Run(length, func(t *testing.T) {
			eachPlanned(t, func(t *testing.T, p *planned) {
				p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)", "CREATE TABLE parts (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)")
				db := p.open(t, "orders: {column: id, source: numbers}\n  parts: {column: id, source: numbers}\n"+
					"sources:\n  numbers: {kind: sequence, name: "+name+", ensure_schema: true, exclusive: true}")
				for _, table := range []string{"orders", "parts"} {
					if _, err := db.Exec("INSERT INTO " + table + " (who) VALUES ('keyfill')"); err != nil {
						t.Fatal(err)
					}
				}
				p.exec(t, "UPDATE keyfill_sequences SET next_value = 5000000000 WHERE name = '"+name+"'")
				steps := p.steps(t, "handback", "--table", "orders")
				text := fmt.Sprint(steps)
				if !strings.Contains(text, "name = '"+name+"'") || !strings.Contains(text, "6000000000") {
					t.Errorf("the plan does not begin above the state:\n%s", text)
				}
				policies := p.execute(t, steps)
				if _, err := p.open(t, policies[0]).Exec("INSERT INTO orders (who) VALUES ('below')"); err != nil {
					t.Errorf("%s: %v", policies[0], err)
				}
				if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE who = 'below' AND id >= 5000000000 AND id < 6000000000"); n != 1 {
					t.Errorf("%s does not go on with the state", policies[0])
				}
			})
		})
	}
}

// TestPlanIdentity: an identity of PostgreSQL becomes one of 64 bits with its column, which
// keeps its default, its comment and where it stands.
func TestPlanIdentity(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		if p.driver != "pgx" {
			return
		}
		p.exec(t, "CREATE TABLE orders (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, old INT DEFAULT 7, who VARCHAR(20) NOT NULL)",
			"COMMENT ON COLUMN orders.old IS 'the old key'", "INSERT INTO orders (who) VALUES ('before')")
		for _, column := range []string{"id", "old"} {
			for _, s := range p.steps(t, "bigint", "--table", "orders", "--column", column) {
				p.exec(t, s.SQL...)
			}
		}
		p.exec(t, "SELECT setval('orders_id_seq', 5000000000)", "INSERT INTO orders (who) VALUES ('after')")
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE id = 5000000001 AND old = 7"); n != 1 {
			t.Error("the identity or the default is another one")
		}
		if n := p.count(t, "SELECT COUNT(*) FROM pg_description WHERE description = 'the old key'"); n != 1 {
			t.Error("the comment is gone")
		}
	})
}

// TestPlanChangeShared: the plan change leaves a state that other tables share, also
// where the state was begun by its table alone, and so names its column.
func TestPlanChangeShared(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)", "CREATE TABLE parts (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)")
		alone := p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}")
		if _, err := alone.Exec("INSERT INTO orders (who) VALUES ('alone')"); err != nil {
			t.Fatal(err)
		}
		var name string
		if err := p.raw.QueryRow("SELECT name FROM keyfill_sequences").Scan(&name); err != nil {
			t.Fatal(err)
		}
		source := "{kind: sequence, name: " + name + ", ensure_schema: true, exclusive: true}"
		both := p.open(t, "orders: {column: id, source: numbers}\n  parts: {column: id, source: numbers}\nsources:\n  numbers: "+source)
		for _, table := range []string{"orders", "parts"} {
			if _, err := both.Exec("INSERT INTO " + table + " (who) VALUES ('both')"); err != nil {
				t.Fatal(err)
			}
		}
		p.exec(t, "UPDATE keyfill_sequences SET next_value = 5000000000 WHERE name = '"+name+"'")
		p.execute(t, p.steps(t, "change", "--table", "orders"))

		if _, err := p.open(t, "parts: {column: id, source: "+source+"}").Exec("INSERT INTO parts (who) VALUES ('after')"); err != nil {
			t.Fatal(err)
		}
		if n := p.count(t, "SELECT id FROM parts WHERE who = 'after'"); n < 5000000000 {
			t.Errorf("the state has begun again: the key is %d", n)
		}
		there := p.execute(t, p.steps(t, "there", "--table", "orders"))
		if _, err := p.open(t, there[0]).Exec("INSERT INTO orders (who) VALUES ('new')"); err != nil {
			t.Error(err)
		}
	})
}

// TestPlanChangeTwice: the plan change, run once more when the new source has reserved,
// leaves that source's state where it is.
func TestPlanChangeTwice(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)")
		old := p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}")
		if _, err := old.Exec("INSERT INTO orders (who) VALUES ('old')"); err != nil {
			t.Fatal(err)
		}
		change := p.steps(t, "change", "--table", "orders")
		p.execute(t, change)
		there := p.execute(t, p.steps(t, "there", "--table", "orders"))
		if _, err := p.open(t, there[0]).Exec("INSERT INTO orders (who) VALUES ('new')"); err != nil {
			t.Fatal(err)
		}
		const state = "SELECT COALESCE(MAX(next_value), 0) FROM keyfill_sequences"
		before := p.count(t, state)
		p.execute(t, change)
		if after := p.count(t, state); after != before {
			t.Errorf("the state stood at %d, and stands at %d", before, after)
		}
	})
}

// TestPlanBackslash: a comment with a backslash stays as it is where the steps are run in a
// session in which a backslash is a character like others.
func TestPlanBackslash(t *testing.T) {
	onMariaDB(t, func(t *testing.T, p *planned) {
		const comment = `SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_comment = CONCAT('a ', CHAR(92), ' key')`
		for _, mode := range []string{"", "NO_BACKSLASH_ESCAPES", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,ANSI_QUOTES"} {
			p.exec(t, "DROP TABLE IF EXISTS orders", "DROP TABLE IF EXISTS keyfill_sequences", `CREATE TABLE orders (id INT NOT NULL PRIMARY KEY COMMENT 'a \\ key', who VARCHAR(20) NOT NULL)`)
			db := p.open(t, "orders: {column: id, max_bits: 31, source: {kind: sequence, ensure_schema: true}}")
			if _, err := db.Exec("INSERT INTO orders (who) VALUES ('keyfill')"); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"bigint", "handback"} {
				for _, s := range p.steps(t, kind, "--table", "orders", "--column", "id") {
					p.inMode(t, mode, s.SQL)
				}
				if p.count(t, comment) != 1 {
					t.Errorf("%q, %s: the comment is another one:\n%s", mode, kind, p.showCreate(t, "orders"))
				}
			}
		}
	})
}

// inMode executes statements on one connection with an sql_mode.
func (p *planned) inMode(t *testing.T, mode string, statements []string) {
	t.Helper()
	conn, err := p.raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range append(append([]string{"SET sql_mode = '" + mode + "'"}, statements...), "SET sql_mode = DEFAULT") {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}
