package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/store"
)

// TestPeriodEngines: the command closes the periods of running programs, by the date of a row
// and by the server's clock, and opens them again.
func TestPeriodEngines(t *testing.T) {
	const tables = `invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "INV-{year}-{n:05}", period: {every: year, column: issued_on}}}
  tickets: {column: Number, source: {kind: sequence, ensure_schema: true, format: "{column:desk}{year}-{n:05}", period: year, scope: [{column: desk, type: text}]}}`
	eachPlanned(t, func(t *testing.T, p *planned) {
		exact := map[string]string{"mysql": " COLLATE utf8mb4_bin"}
		p.exec(t, "CREATE TABLE invoices (number VARCHAR(20) NOT NULL PRIMARY KEY, issued_on DATE)",
			"CREATE TABLE tickets (DESK VARCHAR(9)"+exact[p.driver]+" NOT NULL, number VARCHAR(20) NOT NULL, PRIMARY KEY (desk, number))")
		db := p.open(t, tables)
		insert := func(query string, want error) {
			t.Helper()
			if _, err := db.Exec(query); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", query, err, want)
			}
		}
		file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n")
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		command := func(line, out, errOut string) {
			t.Helper()
			r := keyfillRun(t, "", append(strings.Fields("period "+line), "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")...)
			if r.out != out || !strings.Contains(r.errOut, errOut) || (errOut == "") != (r.code == 0) {
				t.Errorf("keyfill period %s:\n%s%s, want\n%s%s", line, r.out, r.errOut, out, errOut)
			}
		}

		const in2024, in2025 = "INSERT INTO invoices (issued_on) VALUES ('2024-05-01')", "INSERT INTO invoices (issued_on) VALUES ('2025-05-01')"
		insert(in2024, nil)
		insert(in2025, nil)
		command("close invoices.number 2024", "invoices.number[2024]: closed, last number 1\n1 row closed\n", "")
		insert(in2024, store.ErrPeriodClosed)
		insert(in2025, nil)
		command("reopen invoices.number 2024", "invoices.number[2024]: open, last number 1\n1 row opened again\n", "")
		insert(in2024, nil)
		command("close invoices.number 2024-01", "", "is no period")

		year := time.Now().UTC().Format("2006")
		insert("INSERT INTO tickets (desk) VALUES ('A')", nil)
		command("close tickets.number "+year, "", "and the server's clock shows")
		insert("INSERT INTO tickets (desk) VALUES ('A')", nil)
		command("close tickets.number --early "+year, "tickets.number['A',"+year+"]: closed, last number 2\ntickets.number["+year+"]: closed, for parents without a row\n2 rows closed\n", "")
		insert("INSERT INTO tickets (desk) VALUES ('A')", store.ErrPeriodClosed)
		insert("INSERT INTO tickets (desk) VALUES ('B')", store.ErrPeriodClosed)
	})
}

// TestPeriodZone: a period of dates in a column has ended by the days of zone.
func TestPeriodZone(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		// The day is later in the east by 26 hours.
		const east, west = "Etc/GMT-14", "Etc/GMT+12"
		tables := func(zone string) string {
			return `invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, format: "{year}{month:02}{day:02}-{n:05}", period: {every: day, column: issued_on, zone: ` + zone + `}}}`
		}
		p.exec(t, "CREATE TABLE invoices (number VARCHAR(20) NOT NULL PRIMARY KEY, issued_on DATE)")
		day := time.Now().Add(time.Hour).UTC().Add(-12 * time.Hour).Format(time.DateOnly)
		if _, err := p.open(t, tables(west)).Exec("INSERT INTO invoices (issued_on) VALUES ('" + day + "')"); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		for _, c := range []struct{ zone, out, errOut string }{
			{west, "", "and the server's clock shows"},
			{east, "invoices.number[" + day + "]: closed, last number 1\n1 row closed\n", ""},
		} {
			file := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables(c.zone)+"\n")
			r := keyfillRun(t, "", "period", "close", "invoices.number", day, "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")
			if r.out != c.out || !strings.Contains(r.errOut, c.errOut) || (c.errOut == "") != (r.code == 0) {
				t.Errorf("%s:\n%s%s", c.zone, r.out, r.errOut)
			}
		}
	})
}
