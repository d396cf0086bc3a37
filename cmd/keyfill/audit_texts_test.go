package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// binaryText is the collation that the text column of a scope needs, by driver.
var binaryText = map[string]string{"mysql": " COLLATE utf8mb4_bin"}

// TestAuditTexts: nothing is found in the invoices that eight writers number by year at once
// while a third of their transactions is rolled back, and what is done to the rows by hand is
// found, each irregularity by its text.
func TestAuditTexts(t *testing.T) {
	const tables = `invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "INV-{year}-{n:05}", period: {every: year, column: issued_on}}}`
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (id "+serial[p.driver]+", number VARCHAR(20), issued_on DATE)", "CREATE INDEX numbers ON invoices (number)",
			"CREATE TABLE cancellations (number VARCHAR(20))")
		db := p.open(t, tables)
		var writers sync.WaitGroup
		for writer := range 8 {
			writers.Go(func() {
				for i := range 12 {
					err := inTransaction(t, db, func(tx *sql.Tx) error {
						day := fmt.Sprintf("'202%d-03-05'", 4+(i+writer)%4/2*2) // 2024 or 2026
						if _, err := tx.Exec("INSERT INTO invoices (issued_on) VALUES (" + day + "), (" + day + ")"); err != nil {
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
		args := []string{"--table=invoices", "--cancelled=cancellations.number"}
		hole := "info period 0-0 0 map[] 2025"
		if n := p.count(t, "SELECT COUNT(*) FROM invoices"); n != 128 {
			t.Fatalf("%d rows, want 128", n)
		}
		expectAudit(t, p, tables, args, 0, hole)
		if _, err := db.Exec("INSERT INTO invoices (issued_on) VALUES ('2023-05-05'), ('2023-05-06'), ('2023-05-04'), ('2023-05-07')"); err != nil {
			t.Fatal(err)
		}
		order := "info order 3-3 1 map[] 2023 INV-2023-00003"
		expectAudit(t, p, tables, args, 0, hole, order)

		year := int(p.count(t, "SELECT COUNT(*) FROM invoices WHERE number LIKE 'INV-2026-%'"))
		text := func(n int) string { return fmt.Sprintf("INV-2026-%05d", n) }
		p.exec(t, "DELETE FROM invoices WHERE number IN ('INV-2026-00007', 'INV-2026-00008', 'INV-2026-00012')", "INSERT INTO cancellations VALUES ('INV-2026-00012'), ('INV-2026-00014')",
			"UPDATE invoices SET issued_on = '2025-12-31' WHERE number = 'INV-2026-00011'",
			fmt.Sprintf("DELETE FROM invoices WHERE number >= '%s' AND number LIKE 'INV-2026-%%'", text(year-1)),
			"INSERT INTO invoices (number, issued_on) VALUES ('INV-2026-00010', '2026-03-05'), ('INV-2026-09000', '2026-03-05'), ('inv-2026-00011', '2026-03-05'), ('INV-2026-100000', '2026-03-05'), ('', '2026-03-05'), (NULL, '2026-03-05'), ('INV-2026-00000', '2026-03-05')",
			"DELETE FROM invoices WHERE number = 'INV-2024-00001'", "DELETE FROM invoices WHERE number LIKE 'INV-2023-%'")
		expectAudit(t, p, tables, args, 1, hole,
			"error first 1-1 0 map[] 2024 INV-2024-00001", "error period 1-4 0 map[] 2023",
			"error gap 7-8 0 map[] 2026 INV-2026-00007", "error double 10-10 2 map[] 2026 INV-2026-00010", "error date 11-11 1 map[] 2026 INV-2026-00011",
			"error cancelled 14-14 1 map[] 2026 INV-2026-00014",
			fmt.Sprintf("error tail %d-%d 0 map[] 2026 %s", year-1, year, text(year-1)), "error above 9000-9000 1 map[] 2026 INV-2026-09000",
			"error text 0-0 1 map[]  inv-2026-00011", "error text 0-0 1 map[]  INV-2026-100000", "error text 0-0 1 map[]  INV-2026-00000", "error none 0-0 2 map[]")

		// The texts of other programs' rows are no numbers, and without states there is less to compare.
		p.exec(t, "DELETE FROM invoices", "INSERT INTO invoices (number, issued_on) VALUES ('7', NULL), ('7', NULL), ('INV-2026-00002', NULL)", "DELETE FROM keyfill_sequences WHERE name LIKE '%[202%'")
		expectAudit(t, p, tables, args[:1], 1, "error text 0-0 2 map[]  7", "error date 2-2 1 map[] 2026 INV-2026-00002", "error first 1-1 0 map[] 2026 INV-2026-00001", "info state 0-0 1 map[]")
		p.exec(t, "DROP TABLE keyfill_sequences", "DELETE FROM invoices", "DELETE FROM cancellations")
		expectAudit(t, p, tables, args, 0, "info state 0-0 0 map[]")
	})
}

// TestAuditTextsScope: numbers without a width, of parents and periods whose texts the engine
// sorts in turns, are compared by parent and period.
func TestAuditTextsScope(t *testing.T) {
	const tables = `tickets: {column: number, source: {kind: sequence, ensure_schema: true, format: "{column:desk}-{month:02}/{yy}-{n}{luhn}", period: {every: month, column: day}, scope: [{column: desk, type: text}]}}
  receipts: {column: no, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "R{n:base32}{mod97}"}}
  parcels: {column: no, source: {kind: sequence, block: 1, ensure_schema: true, format: "P{year}.{n}", period: {every: year, column: day}}}`
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE tickets (desk VARCHAR(9)"+binaryText[p.driver]+" NOT NULL, day DATE, number VARCHAR(30) NOT NULL, PRIMARY KEY (desk, number))",
			"CREATE TABLE receipts (no VARCHAR(20) NOT NULL PRIMARY KEY, cents INT)", "CREATE TABLE parcels (no CHAR(20) NOT NULL PRIMARY KEY, day DATE)",
			"CREATE TABLE void (desk VARCHAR(9), number VARCHAR(30))")
		db := p.open(t, tables)
		insert := func(query string, args ...any) {
			t.Helper()
			if _, err := db.Exec(query, args...); err != nil {
				t.Fatal(err)
			}
		}
		for _, desk := range []string{"a", "A", "it's, [x]"} {
			for _, day := range []string{"'2026-03-05'", "'2026-04-05'"} {
				row := "('" + strings.ReplaceAll(desk, "'", "''") + "', " + day + ")"
				insert("INSERT INTO tickets (desk, day) VALUES " + row + strings.Repeat(", "+row, 119))
			}
		}
		insert("INSERT INTO receipts (cents) VALUES (1)" + strings.Repeat(", (1)", 1099))
		insert("INSERT INTO parcels (day) VALUES ('2026-03-05')" + strings.Repeat(", ('2026-03-05')", 11))
		for _, table := range []string{"tickets", "receipts", "parcels"} {
			expectAudit(t, p, tables, []string{"--table", table}, 0)
		}

		text := func(table, column, where string) string {
			t.Helper()
			var text string
			if err := p.raw.QueryRow("SELECT " + column + " FROM " + table + " WHERE " + where).Scan(&text); err != nil {
				t.Fatal(err)
			}
			return text
		}
		hundred, eleven := text("tickets", "number", "desk = 'a' AND number LIKE 'a-03/26-100_'"), text("tickets", "number", "desk = 'A' AND number LIKE 'A-04/26-11_'")
		p.exec(t, "DELETE FROM tickets WHERE desk = 'a' AND number = '"+hundred+"'", "DELETE FROM tickets WHERE desk = 'A' AND number = '"+eleven+"'",
			"INSERT INTO void VALUES ('A', '"+eleven+"')", "INSERT INTO tickets VALUES ('it''s, [x]', '2026-03-05', '"+eleven+"')",
			"DELETE FROM tickets WHERE desk LIKE 'it%' AND day = '2026-04-05'", "DELETE FROM parcels WHERE no IN ('P2026.3', 'P2026.12')")
		expectAudit(t, p, tables, []string{"--table=tickets", "--cancelled=void.number"}, 1, "error gap 100-100 0 map[desk:a] 2026-03 "+hundred,
			"error text 0-0 1 map[desk:it's, [x]]  "+eleven, "error period 1-120 0 map[desk:it's, [x]] 2026-04")
		expectAudit(t, p, tables, []string{"--table=parcels"}, 0)
		last := text("receipts", "no", "no LIKE 'R11__'")
		p.exec(t, "INSERT INTO receipts VALUES ('R199', 1)", "DELETE FROM receipts WHERE no = '"+last+"'")
		expectAudit(t, p, tables, []string{"--table=receipts"}, 1, "error text 0-0 1 map[]  R199", "error gap 33-33 0 map[]  "+last)
	})
}

// TestAuditTemplates: the numbers of a period are read by the period's template, and texts of
// another period's template are none.
func TestAuditTemplates(t *testing.T) {
	const old = `invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "{year}{n:04}", period: {every: year, column: issued_on}}}`
	tables := strings.Replace(old, "{year}{n:04}", "R{yy}-{n}", 1)
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (number VARCHAR(20) NOT NULL PRIMARY KEY, issued_on DATE)")
		insert := func(tables, day string) {
			t.Helper()
			row := "('" + day + "')"
			if _, err := p.open(t, tables).Exec("INSERT INTO invoices (issued_on) VALUES " + row + strings.Repeat(", "+row, 11)); err != nil {
				t.Fatal(err)
			}
		}
		insert(old, "2025-05-05")
		insert(tables, "2026-05-05")
		insert(tables, "2025-05-06")
		r := keyfillRun(t, "", "period", "close", "invoices.number", "2025", "--config", writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n"), "--driver", p.driver, "--dsn", p.dsn)
		if r.code != 0 {
			t.Fatal(r.errOut)
		}
		expectAudit(t, p, tables, []string{"--table=invoices"}, 0)
		p.exec(t, "DELETE FROM invoices WHERE number IN ('20250024', '20250002', 'R26-2')", "INSERT INTO invoices VALUES ('R25-2', '2025-05-05'), ('20260002', '2026-05-05'), ('R24-1', '2024-05-05')")
		expectAudit(t, p, tables, []string{"--table=invoices"}, 1,
			"error gap 2-2 0 map[] 2025 20250002", "error tail 24-24 0 map[] 2025 20250024", "error gap 2-2 0 map[] 2026 R26-2",
			"error text 0-0 1 map[]  R25-2", "error text 0-0 1 map[]  20260002", "info state 0-0 1 map[]")
	})
}
