package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// audited runs keyfill audit and returns the findings, each as its rule, numbers, rows,
// parent, period and first text, and the exit code.
func audited(t *testing.T, p *planned, tables string, args ...string) (findings []string, code int) {
	t.Helper()
	file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n")
	t.Setenv("KEYFILL_TEST_DSN", p.dsn)
	r := keyfillRun(t, "", append([]string{"audit", "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--json"}, args...)...)
	for _, line := range strings.Split(strings.TrimSuffix(r.out, "\n"), "\n") {
		var f struct {
			Rule, Severity string
			Parent         map[string]any
			Period         string
			From, To, Rows int64
			FromText       string `json:"from_text"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v; standard error: %s", line, err, r.errOut)
		}
		if f.Rule != "summary" {
			findings = append(findings, strings.TrimSpace(fmt.Sprintf("%s %s %d-%d %d %v %s %s", f.Severity, f.Rule, f.From, f.To, f.Rows, f.Parent, f.Period, f.FromText)))
		}
	}
	slices.Sort(findings)
	return findings, r.code
}

// expectAudit runs keyfill audit, which has to find what is wanted and no more.
func expectAudit(t *testing.T, p *planned, tables string, args []string, code int, want ...string) {
	t.Helper()
	slices.Sort(want)
	got, exit := audited(t, p, tables, args...)
	if !slices.Equal(got, want) {
		t.Errorf("%v:\n got %q\nwant %q", args, got, want)
	}
	if exit != code {
		t.Errorf("%v: exit code %d, want %d", args, exit, code)
	}
}

// errUndone rolls a transaction back.
var errUndone = errors.New("undone")

// TestAudit: nothing is found in numbers that writers store at once while a third of their
// transactions is rolled back, and what is done to the rows by hand is found, each
// irregularity by its numbers.
func TestAudit(t *testing.T) {
	const (
		joined = "invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}"
		args   = "--table=invoices"
	)
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (id "+serial[p.driver]+", number BIGINT, who VARCHAR(20))", "CREATE INDEX numbers ON invoices (number)",
			"CREATE TABLE cancellations (number BIGINT)")
		db := p.open(t, joined)
		var writers sync.WaitGroup
		for writer := range 4 {
			writers.Go(func() {
				for i := range 30 {
					err := inTransaction(t, db, func(tx *sql.Tx) error {
						if _, err := tx.Exec("INSERT INTO invoices (who) VALUES ('x'), ('y')"); err != nil {
							return err
						}
						if (i+writer)%3 == 0 {
							return errUndone
						}
						return nil
					})
					if err != nil && !errors.Is(err, errUndone) {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		if n := p.count(t, "SELECT COUNT(*) FROM invoices"); n != 160 {
			t.Fatalf("%d rows, want 160", n)
		}
		expectAudit(t, p, joined, []string{args}, 0)

		p.exec(t, "DELETE FROM invoices WHERE number IN (17, 18, 30)", "INSERT INTO cancellations VALUES (30), (40)")
		expectAudit(t, p, joined, []string{args, "--cancelled=cancellations.number"}, 1,
			"error gap 17-18 0 map[]", "error cancelled 40-40 1 map[]")
		p.exec(t, "DELETE FROM invoices WHERE number < 3 OR number > 158", "INSERT INTO invoices (number) VALUES (50), (50), (700), (-2), (0)",
			"UPDATE invoices SET number = NULL WHERE number = 60")
		expectAudit(t, p, joined, []string{args}, 1,
			"error first 1-2 0 map[]", "error gap 17-18 0 map[]", "error gap 30-30 0 map[]", "error double 50-50 3 map[]", "error gap 60-60 0 map[]",
			"error tail 159-160 0 map[]", "error above 700-700 1 map[]", "error below -2-0 2 map[]", "error none 0-0 1 map[]")

		// The rows of a sequence with blocks have gaps, whatever became of them.
		blocks := strings.Replace(joined, "transaction: joined, ", "", 1)
		expectAudit(t, p, blocks, []string{args}, 1,
			"error double 50-50 3 map[]", "error above 700-700 1 map[]", "error below -2-0 2 map[]", "error none 0-0 1 map[]")

		// Rows from before the sequence are not its own.
		p.exec(t, "DELETE FROM invoices WHERE number IS NULL OR number < 100 OR number > 158")
		expectAudit(t, p, strings.Replace(joined, "transaction", "start: 120, transaction", 1), []string{args}, 1, "error tail 159-160 0 map[]")

		p.exec(t, "DELETE FROM keyfill_sequences")
		expectAudit(t, p, joined, []string{args}, 1, "error first 1-99 0 map[]", "info state 0-0 0 map[]")
		p.exec(t, "DROP TABLE keyfill_sequences")
		expectAudit(t, p, joined, []string{args}, 1, "error first 1-99 0 map[]", "info state 0-0 0 map[]")
	})
}

// TestAuditScope is TestAudit for numbers within parents, whose texts differ in case alone.
func TestAuditScope(t *testing.T) {
	const tables = `bill_lines: {column: no, source: {kind: sequence, scope: [{column: shop, type: text}, {column: bill}], ensure_schema: true}}`
	eachPlanned(t, func(t *testing.T, p *planned) {
		exact := map[string]string{"mysql": " COLLATE utf8mb4_bin"}
		p.exec(t, "CREATE TABLE bill_lines (shop VARCHAR(20)"+exact[p.driver]+" NOT NULL, bill BIGINT NOT NULL, no BIGINT)", "CREATE INDEX numbers ON bill_lines (shop, bill, no)")
		db := p.open(t, tables)
		for i := range 60 {
			if _, err := db.Exec("INSERT INTO bill_lines (shop, bill) VALUES (" + []string{"'a', 1", "'A', 1", "'it''s', 2"}[i%3] + ")"); err != nil {
				t.Fatal(err)
			}
		}
		expectAudit(t, p, tables, []string{"--table=bill_lines"}, 0)
		p.exec(t, "DELETE FROM bill_lines WHERE shop = 'it''s' AND no = 7", "DELETE FROM bill_lines WHERE shop = 'A' AND no > 18", "INSERT INTO bill_lines VALUES ('a', 1, 90), ('a', 1, 3)")
		expectAudit(t, p, tables, []string{"--table=bill_lines"}, 1,
			"error gap 7-7 0 map[bill:2 shop:it's]", "error tail 19-20 0 map[bill:1 shop:A]",
			"error gap 21-89 0 map[bill:1 shop:a]", "error double 3-3 2 map[bill:1 shop:a]", "error above 21-90 1 map[bill:1 shop:a]")
		p.exec(t, "DELETE FROM bill_lines")
		expectAudit(t, p, tables, []string{"--table=bill_lines"}, 0,
			"info tail 1-20 0 map[bill:2 shop:it's]", "info tail 1-20 0 map[bill:1 shop:A]", "info tail 1-20 0 map[bill:1 shop:a]")
	})
}

// TestAuditShared: tables that share a state are audited together.
func TestAuditShared(t *testing.T) {
	const tables = "invoices: {column: number, source: bills}\n  credits: {column: number, source: bills}\nsources:\n  bills: {kind: sequence, transaction: joined, ensure_schema: true}"
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (number BIGINT PRIMARY KEY, who VARCHAR(20))", "CREATE TABLE credits (number BIGINT PRIMARY KEY, who VARCHAR(20))")
		db := p.open(t, tables)
		for i := range 20 {
			if _, err := db.Exec("INSERT INTO " + []string{"invoices", "credits"}[i%2] + " (who) VALUES ('x')"); err != nil {
				t.Fatal(err)
			}
		}
		expectAudit(t, p, tables, []string{"--table=credits"}, 0)
		p.exec(t, "DELETE FROM invoices WHERE number = 7", "INSERT INTO credits VALUES (9, 'x')")
		expectAudit(t, p, tables, []string{"--table=credits"}, 1, "error gap 7-7 0 map[]", "error double 9-9 2 map[]")
	})
}

// TestAuditWhileWriting: the rows and the state are of one moment, while writers go on.
func TestAuditWhileWriting(t *testing.T) {
	const tables = `invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}
  texts: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "{n}/{year}", period: year}}`
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (number BIGINT PRIMARY KEY, who VARCHAR(20))", "CREATE TABLE texts (number VARCHAR(20) PRIMARY KEY, who VARCHAR(20))")
		db := p.open(t, tables)
		for _, table := range []string{"invoices", "texts"} {
			if _, err := db.Exec("INSERT INTO " + table + " (who) VALUES ('x')"); err != nil {
				t.Fatal(err)
			}
		}
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for _, table := range []string{"invoices", "texts"} {
			writers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := db.Exec("INSERT INTO " + table + " (who) VALUES ('x'), ('x'), ('x')"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 10 {
			expectAudit(t, p, tables, []string{"--table=invoices"}, 0)
			expectAudit(t, p, tables, []string{"--table=texts"}, 0)
		}
		close(stop)
		writers.Wait()
	})
}

// TestAuditNames: names that need quotes, and tables of MariaDB whose names are compared by case,
// have the state that keyfill gives them.
func TestAuditNames(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		quoted := func(text string) string {
			if p.driver == "mysql" {
				return strings.ReplaceAll(text, `"`, "`")
			}
			return text
		}
		p.exec(t, quoted(`CREATE TABLE "My.Bills" ("Id" BIGINT PRIMARY KEY, "The No" BIGINT UNIQUE)`), quoted(`CREATE TABLE "Items" ("No" BIGINT, "Shop" BIGINT)`),
			quoted(`CREATE TABLE "Gone" ("a.b" BIGINT, "Shop" BIGINT)`), `INSERT INTO `+quoted(`"Gone"`)+` VALUES (2, 7)`)
		tables := quoted(`'"My.Bills"': {column: '"The No"', source: {kind: sequence, transaction: joined, ensure_schema: true}}
  '"Items"': {column: '"No"', source: {kind: sequence, scope: ['"Shop"'], ensure_schema: true}}`)
		db := p.open(t, tables)
		for i := range 3 {
			for _, query := range []string{fmt.Sprintf(`INSERT INTO "My.Bills" ("Id") VALUES (%d)`, i), `INSERT INTO "Items" ("Shop") VALUES (7)`} {
				if _, err := db.Exec(quoted(query)); err != nil {
					t.Fatal(err)
				}
			}
		}
		bills, shop := quoted(`--table="My.Bills"`), map[bool]string{false: "shop", true: "Shop"}[p.driver == "pgx"]
		expectAudit(t, p, tables, []string{bills}, 0)
		p.exec(t, quoted(`DELETE FROM "My.Bills" WHERE "The No" = 3`), quoted(`DELETE FROM "Items" WHERE "No" = 2`))
		expectAudit(t, p, tables, []string{bills, quoted(`--column="The No"`)}, 1, "error tail 3-3 0 map[]")
		expectAudit(t, p, tables, []string{quoted(`--table="Items"`)}, 1, "error gap 2-2 0 map["+shop+":7]")
		expectAudit(t, p, tables, []string{quoted(`--table="Items"`), quoted(`--cancelled="Gone"."a.b"`)}, 0)
	})
}

// TestAuditMariaDB: a policy for the dialect of MySQL counts on MariaDB too, a table without
// transactions is said to be one, and a DSN without a database is an error that says so.
func TestAuditMariaDB(t *testing.T) {
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it starts a server")
	}
	const tables = "invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}\ndialect: mysql"
	name := mariadb.Database(t, "mysql")
	p := &planned{driver: "mysql", dsn: mariadb.DSN(name)}
	p.raw = p.open(t, "")
	p.exec(t, "CREATE TABLE invoices (number BIGINT PRIMARY KEY, who VARCHAR(20))")
	if _, err := p.open(t, tables).Exec("INSERT INTO invoices (who) VALUES ('x'), ('x')"); err != nil {
		t.Fatal(err)
	}
	p.exec(t, "DELETE FROM invoices WHERE number = 2")
	expectAudit(t, p, tables, []string{"--table=invoices"}, 1, "error tail 2-2 0 map[]")
	p.exec(t, "CREATE TABLE cancellations (number BIGINT) ENGINE=MyISAM", "INSERT INTO cancellations VALUES (2)")
	expectAudit(t, p, tables, []string{"--table=invoices", "--cancelled=cancellations.number"}, 0, "info state 0-0 0 map[]")
	file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n")
	r := keyfillRun(t, "", "audit", "--config", file, "--driver=mysql", "--dsn", strings.Replace(p.dsn, "/"+name, "/", 1), "--table", name+".invoices")
	if r.code != 2 || !strings.Contains(r.errOut, "name the database with keyfill_sequences in the DSN") {
		t.Errorf("exit code %d, %q, want 2 and what the DSN needs", r.code, r.errOut)
	}
}

// TestAuditGlob: the tables of a pattern that share a state are audited together, with those that
// the policy names.
func TestAuditGlob(t *testing.T) {
	const source = "{column: id, source: {kind: sequence, transaction: joined, name: logs, ensure_schema: true}}"
	const tables = `"log_*": ` + source + "\n  extra: " + source
	eachPlanned(t, func(t *testing.T, p *planned) {
		names := []string{"log_a", "log_b", "extra", "other"}
		for _, name := range names {
			p.exec(t, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY, who VARCHAR(20))")
		}
		p.exec(t, "CREATE VIEW log_views AS SELECT * FROM log_a", "CREATE TABLE log_names (who VARCHAR(20))")
		db := p.open(t, tables)
		for i := range 9 {
			if _, err := db.Exec("INSERT INTO " + names[i%3] + " (who) VALUES ('x')"); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range names[:3] {
			expectAudit(t, p, tables, []string{"--table", name}, 0)
		}
		p.exec(t, "DELETE FROM log_b WHERE id = 5", "INSERT INTO other VALUES (5, 'x')")
		expectAudit(t, p, tables, []string{"--table=log_a"}, 1, "error gap 5-5 0 map[]")
	})
}

// onPostgreSQL returns an empty database of PostgreSQL.
func onPostgreSQL(t *testing.T) *planned {
	t.Helper()
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it starts a server")
	}
	p := &planned{driver: "pgx", dsn: postgresql.DSN(postgresql.Database(t, "pgx"))}
	p.raw = p.open(t, "")
	return p
}

// TestAuditSchemas: tables of one name in two schemas have a state each under a bare entry, and
// one under a name.
func TestAuditSchemas(t *testing.T) {
	const own = "orders: {column: id, source: {kind: sequence, transaction: joined, ensure_schema: true}}"
	shared := strings.Replace(own, "transaction", "name: bills, transaction", 1)
	p := onPostgreSQL(t)
	p.exec(t, "CREATE SCHEMA shop")
	for _, name := range []string{"orders", "shop.orders"} {
		p.exec(t, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY, who TEXT)")
	}
	db := p.open(t, own)
	for _, name := range []string{"orders", "shop.orders", "shop.orders", "public.orders", "shop.orders"} {
		if _, err := db.Exec("INSERT INTO " + name + " (who) VALUES ('x')"); err != nil {
			t.Fatal(err)
		}
	}
	p.exec(t, "DELETE FROM shop.orders WHERE id = 3")
	expectAudit(t, p, own, []string{"--table=orders"}, 0)
	expectAudit(t, p, own, []string{"--table=public.orders"}, 0)
	expectAudit(t, p, own, []string{"--table=shop.orders"}, 1, "error tail 3-3 0 map[]")
	p.exec(t, "UPDATE keyfill_sequences SET name = 'bills' WHERE name = 'orders.id'")
	expectAudit(t, p, shared, []string{"--table=shop.orders"}, 1, "error double 1-1 2 map[]", "error double 2-2 2 map[]")
}

// TestAuditScopeTypes: cancelled numbers belong to the parent whose values are the same by their
// bytes, whatever their column compares as equal, and not to values of another type. A parent
// above the greatest int64 is compared with its state too, and states that are not there are said.
func TestAuditScopeTypes(t *testing.T) {
	const tables = "bill_lines: {column: no, source: {kind: sequence, scope: [{column: shop, type: text}], ensure_schema: true}}\n" +
		"  parts: {column: no, source: {kind: sequence, scope: [item], ensure_schema: true}}"
	eachPlanned(t, func(t *testing.T, p *planned) {
		exact, loose, item := "", map[string]string{"sqlite": " COLLATE NOCASE"}[p.driver], "BIGINT"
		if p.driver == "mysql" {
			exact, loose, item = " COLLATE utf8mb4_bin", " COLLATE utf8mb4_general_ci", "BIGINT UNSIGNED"
		}
		p.exec(t, "CREATE TABLE bill_lines (shop VARCHAR(20)"+exact+", no BIGINT)", "CREATE INDEX lines_no ON bill_lines (shop, no)",
			"CREATE TABLE void (shop VARCHAR(20)"+loose+", no BIGINT)", "CREATE TABLE numbered (shop BIGINT, no BIGINT)",
			"CREATE TABLE parts (item "+item+", no BIGINT)", "CREATE INDEX parts_no ON parts (item, no)")
		db := p.open(t, tables)
		for range 4 {
			for _, shop := range []string{"a", "A", "12"} {
				if _, err := db.Exec("INSERT INTO bill_lines (shop) VALUES ('" + shop + "')"); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.exec(t, "DELETE FROM bill_lines WHERE no = 4", "INSERT INTO void VALUES ('a', 4), ('a', 4), ('a', NULL), ('12', 4), ('12', 5)")
		expectAudit(t, p, tables, []string{"--table=bill_lines", "--cancelled=void.no"}, 1, "error tail 4-4 0 map[shop:A]", "error above 5-5 0 map[shop:12]")
		file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n")
		r := keyfillRun(t, "", "audit", "--config", file, "--driver", p.driver, "--dsn", p.dsn, "--table=bill_lines", "--cancelled=numbered.no")
		if r.code != 2 || !strings.Contains(r.errOut, "numbered.shop has another type") {
			t.Errorf("exit code %d, %q, want 2 and what type is needed", r.code, r.errOut)
		}

		if p.driver == "mysql" {
			for range 3 {
				if _, err := db.Exec("INSERT INTO parts (item) VALUES (?)", uint64(1<<63+1)); err != nil {
					t.Fatal(err)
				}
			}
			p.exec(t, "DELETE FROM parts WHERE no = 3")
			expectAudit(t, p, tables, []string{"--table=parts"}, 1, "error tail 3-3 0 map[item:9.223372036854776e+18]")
		}
		p.exec(t, "DELETE FROM keyfill_sequences WHERE name LIKE 'bill_lines.no[%'", "DELETE FROM bill_lines WHERE no = 3")
		expectAudit(t, p, tables, []string{"--table=bill_lines"}, 0, "info state 0-0 0 map[]")
		p.exec(t, "DROP TABLE keyfill_sequences")
		expectAudit(t, p, tables, []string{"--table=bill_lines"}, 0, "info state 0-0 0 map[]")
	})
}

// TestAuditLongParents: a parent whose values are too long for the name of its state is compared
// too, while it has rows, among others of which there are more than are read at a time.
func TestAuditLongParents(t *testing.T) {
	const tables = "chapters: {column: no, source: {kind: sequence, scope: [{column: book, type: text}, part], ensure_schema: true}}"
	eachPlanned(t, func(t *testing.T, p *planned) {
		exact := map[string]string{"mysql": " COLLATE utf8mb4_bin"}[p.driver]
		p.exec(t, "CREATE TABLE chapters (book VARCHAR(250)"+exact+", part BIGINT, no BIGINT)", "CREATE INDEX chapters_no ON chapters (book, part, no)")
		db := p.open(t, tables)
		long := strings.Repeat("é", 60) + strings.Repeat("x", 130)
		insert := func(tx *sql.Tx, book string, parts int) error {
			var values []string
			for part := range parts {
				values = append(values, fmt.Sprintf("('%s', %d), ('%[1]s', %[2]d)", book, part))
			}
			_, err := tx.Exec("INSERT INTO chapters (book, part) VALUES " + strings.Join(values, ", "))
			return err
		}
		err := inTransaction(t, db, func(tx *sql.Tx) error {
			return errors.Join(insert(tx, "a", 300), insert(tx, strings.Repeat("x", 200), 300), insert(tx, long, 2))
		})
		if err != nil {
			t.Fatal(err)
		}
		expectAudit(t, p, tables, []string{"--table=chapters"}, 0)
		p.exec(t, "DELETE FROM chapters WHERE book = '"+long+"' AND part = 1 AND no = 2", "DELETE FROM chapters WHERE book = '"+long+"' AND part = 0")
		expectAudit(t, p, tables, []string{"--table=chapters"}, 1, "error tail 2-2 0 map[book:"+long+" part:1]", "info state 0-0 1 map[]")
	})
}

// TestAuditPartitions: a row counts once where a pattern matches its table and the partition that
// has it, and keyfill's own tables do not count.
func TestAuditPartitions(t *testing.T) {
	const tables = `"*": {column: id, source: {kind: sequence, name: all, transaction: joined, ensure_schema: true}}`
	p := onPostgreSQL(t)
	p.exec(t, "CREATE TABLE parts (id BIGINT, who INT) PARTITION BY RANGE (who)", "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (who)",
		"CREATE TABLE parts_1_1 PARTITION OF parts_1 FOR VALUES FROM (0) TO (5)", "CREATE TABLE bases (id BIGINT, who INT)", "CREATE TABLE heirs (more INT) INHERITS (bases)",
		"CREATE TABLE keyfill_sequences (name VARCHAR(190) PRIMARY KEY, next_value BIGINT, incarnation VARCHAR(40), id BIGINT)", "INSERT INTO keyfill_sequences VALUES ('all', 7, '', 2)",
		"INSERT INTO parts VALUES (1, 1), (2, 2)", "INSERT INTO bases VALUES (3, 1)", "INSERT INTO heirs VALUES (4, 1, 1)")
	for _, name := range []string{"parts", "parts_1_1", "heirs"} {
		expectAudit(t, p, tables, []string{"--table", name}, 1, "error tail 5-6 0 map[]")
	}
}

// TestAuditStartAt: of two sequences of a column each is audited alone, also the one that ends where
// the other begins. A parent whose numbers of the sequence are gone lacks no numbers below start.
func TestAuditStartAt(t *testing.T) {
	const before = "parcels: {column: id, source: {kind: sequence, transaction: joined, ensure_schema: true}}"
	after := strings.Replace(before, "transaction", "name: later, start_at: 500, transaction", 1)
	const lines = "bill_lines: {column: no, source: {kind: sequence, scope: [bill], start: 100, ensure_schema: true}}"
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE parcels (id BIGINT PRIMARY KEY, who VARCHAR(20))",
			"CREATE TABLE bill_lines (bill BIGINT, no BIGINT)", "CREATE INDEX lines_no ON bill_lines (bill, no)", "INSERT INTO bill_lines VALUES (1, 3)")
		for _, tables := range []string{before, after} {
			if _, err := p.open(t, tables).Exec("INSERT INTO parcels (who) VALUES ('x'), ('x'), ('x')"); err != nil {
				t.Fatal(err)
			}
		}
		p.exec(t, "DELETE FROM parcels WHERE id IN (2, 501)")
		expectAudit(t, p, before, []string{"--table=parcels"}, 1, "error gap 2-2 0 map[]")
		expectAudit(t, p, after, []string{"--table=parcels"}, 1, "error gap 501-501 0 map[]")

		if _, err := p.open(t, lines).Exec("INSERT INTO bill_lines (bill) VALUES (1), (1)"); err != nil {
			t.Fatal(err)
		}
		p.exec(t, "DELETE FROM bill_lines WHERE no >= 100")
		expectAudit(t, p, lines, []string{"--table=bill_lines"}, 1, "error tail 100-101 0 map[bill:1]")
	})
}

// TestAuditSeesAll: where the user does not see all rows, or not the states, that is an error and
// no gap, and an empty search path finds the table of states as keyfill does.
func TestAuditSeesAll(t *testing.T) {
	const tables = "shop.orders: {column: id, source: {kind: sequence, transaction: joined, ensure_schema: true}}"
	p := onPostgreSQL(t)
	p.exec(t, "CREATE SCHEMA shop", "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, who TEXT)")
	db := p.open(t, tables)
	for range 3 {
		if _, err := db.Exec("INSERT INTO shop.orders (who) VALUES ('x')"); err != nil {
			t.Fatal(err)
		}
	}
	p.exec(t, "DELETE FROM shop.orders WHERE id = 3")
	pathless := &planned{driver: p.driver, dsn: withParameter(p.dsn, "search_path=")}
	expectAudit(t, pathless, tables, []string{"--table=shop.orders"}, 1, "error tail 3-3 0 map[]")

	p.exec(t, "CREATE ROLE keyfill_auditor LOGIN", "GRANT USAGE ON SCHEMA shop TO keyfill_auditor", "GRANT SELECT ON shop.orders TO keyfill_auditor")
	defer p.exec(t, "DROP OWNED BY keyfill_auditor", "DROP ROLE keyfill_auditor")
	file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n")
	refused := func(want string) {
		t.Helper()
		dsn := strings.Replace(p.dsn, "postgres@", "keyfill_auditor@", 1)
		r := keyfillRun(t, "", "audit", "--config", file, "--driver=pgx", "--dsn", dsn, "--table=shop.orders")
		if r.code != 2 || r.out != "" || !strings.Contains(r.errOut, want) {
			t.Errorf("exit code %d, %q, %q, want 2 and %q", r.code, r.out, r.errOut, want)
		}
	}
	refused("run GRANT SELECT ON keyfill_sequences to this user")
	p.exec(t, "GRANT SELECT ON keyfill_sequences TO keyfill_auditor", "ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON shop.orders USING (id <> 2)")
	refused("let this user read all rows of the tables")
	p.exec(t, "ALTER TABLE shop.orders DISABLE ROW LEVEL SECURITY", "ALTER TABLE keyfill_sequences ENABLE ROW LEVEL SECURITY")
	refused("let this user read all rows of the tables")
}

// withParameter adds a parameter to a DSN.
func withParameter(dsn, parameter string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&" + parameter
	}
	return dsn + "?" + parameter
}

// TestAuditLocksNothing: an audit does not wait for a transaction that writes, also where the
// DSN asks for a lock at the beginning of each transaction.
func TestAuditLocksNothing(t *testing.T) {
	const tables = "invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}"
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (number BIGINT PRIMARY KEY, who VARCHAR(20))")
		db := p.open(t, tables)
		for range 3 {
			if _, err := db.Exec("INSERT INTO invoices (who) VALUES ('x')"); err != nil {
				t.Fatal(err)
			}
		}
		err := inTransaction(t, db, func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT INTO invoices (who) VALUES ('x')"); err != nil {
				return err
			}
			waits := &planned{driver: p.driver, dsn: strings.Replace(p.dsn, "busy_timeout(60000)", "busy_timeout(100)", 1)}
			expectAudit(t, waits, tables, []string{"--table=invoices"}, 0)
			return errUndone
		})
		if !errors.Is(err, errUndone) {
			t.Fatal(err)
		}
	})
}

// TestAuditRefuses: what cannot be audited is an error that says what to name.
func TestAuditRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id TEXT, no BIGINT, code TEXT); CREATE TABLE tenants (no BIGINT); CREATE TABLE lines (bill BIGINT, no BIGINT); CREATE TABLE void (no BIGINT, name TEXT); CREATE TABLE wide (no BIGINT); INSERT INTO wide VALUES ('9223372036854775808')"); err != nil {
		t.Fatal(err)
	}
	config := writeFile(t, "keyfill.yaml", `version: 1
tables:
  orders: {keys: [{column: id}, {column: no, source: {kind: sequence, name: "{table}"}}, {column: code, source: {kind: sequence, name: codes}, layout: string}]}
  tenants: {column: no, source: {kind: sequence, name: "t-{value:tenant}"}}
  lines: {column: no, source: {kind: sequence, scope: [bill]}}
  users: {column: id}
  wide: {column: no, source: {kind: sequence}}
`)
	base := []string{"audit", "--driver", "sqlite", "--dsn", file, "--config", config}
	for _, c := range []struct{ args, want string }{
		{"", "say --table"},
		{"--table order", `did you mean "orders"`},
		{"--table users", "no column of users has numbers of a sequence"},
		{"--table orders --column id", "keys of the kind uuidv7, which do not count"},
		{"--table orders --column code", "holds numbers as text"},
		{"--table orders --column cod", `did you mean "code"`},
		{"--table tenants", "a state for each value of tenant"},
		{"--table orders --cancelled void", "name a table and its column"},
		{"--table orders --cancelled void.name", "holds no integers"},
		{"--table orders --cancelled void.nam", `did you mean "name"`},
		{"--table lines --cancelled void.no", "since a cancelled number is one within bill"},
		{"--table orders --json --csv", "take one"},
		{"--table wide", "which is no integer of 63 bits: mend that row"},
	} {
		r := keyfillRun(t, "", append(slices.Clone(base), strings.Fields(c.args)...)...)
		if r.code != 2 || !strings.Contains(r.errOut, c.want) {
			t.Errorf("%s: exit code %d, %q, want 2 and %q", c.args, r.code, r.errOut, c.want)
		}
	}
}

// inTransaction runs f in a transaction, which it commits unless f fails.
func inTransaction(t *testing.T, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
