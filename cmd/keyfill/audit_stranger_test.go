package main

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
)

// TestAuditStranger: what other programs, other settings and odd values leave in the tables is
// told as what it is.
func TestAuditStranger(t *testing.T) {
	const (
		bills   = `bills: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, name: "b-{value:tenant}", exclusive: true, format: "{value:tenant}-{n}"}}`
		notes   = `notes: {column: number, source: {kind: sequence, block: 1, ensure_schema: true, format: "{year}{month:02}{day:02}-{n:04}", period: day}}`
		fiscal  = `fiscal: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true, start: 100, format: "{fy}/{quarter}/{n}", period: {every: quarter, starts: 04-01, column: day}}}`
		shared  = "one: {column: number, source: both}\n  two: {column: number, source: both}\nsources:\n  both: {kind: sequence, transaction: joined, ensure_schema: true, format: \"S{n:06}\"}"
		long    = `chapters: {column: number, source: {kind: sequence, ensure_schema: true, format: "{year}-{n:04}", period: {every: year, column: day}, scope: [{column: book, type: text}]}}`
		padded  = `padded: {column: number, source: {kind: sequence, ensure_schema: true, format: "{column:desk}{n:04}", scope: [{column: desk, type: text}]}}`
		integer = `integers: {column: no, source: {kind: sequence, ensure_schema: true, scope: [{column: desk, type: text}]}}`
	)
	eachPlanned(t, func(t *testing.T, p *planned) {
		bin := binaryText[p.driver]
		p.exec(t, "CREATE TABLE bills (number VARCHAR(30) PRIMARY KEY, who INT)", "CREATE TABLE notes (number VARCHAR(30) PRIMARY KEY, who INT)",
			"CREATE TABLE fiscal (number VARCHAR(30) PRIMARY KEY, day VARCHAR(30))", "CREATE TABLE one (number VARCHAR(30) PRIMARY KEY, who INT)", "CREATE TABLE two (number CHAR(30) PRIMARY KEY, who INT)",
			"CREATE TABLE chapters (book VARCHAR(250)"+bin+", day DATE, number VARCHAR(30))", "CREATE UNIQUE INDEX chapters_no ON chapters (book, number)",
			"CREATE TABLE padded (desk CHAR(9)"+bin+" NOT NULL, number VARCHAR(30) NOT NULL, who INT, PRIMARY KEY (desk, number))",
			"CREATE TABLE integers (desk CHAR(9)"+bin+" NOT NULL, no BIGINT NOT NULL, who INT, PRIMARY KEY (desk, no))")
		insert := func(tables, query string) {
			t.Helper()
			if _, err := p.open(t, tables).Exec(query); err != nil {
				t.Fatal(query, err)
			}
		}
		audit := func(tables, args string, code int, want ...string) {
			t.Helper()
			expectAudit(t, p, tables, strings.Fields(args), code, want...)
		}
		refused := func(tables, args, want string) {
			t.Helper()
			r := keyfillRun(t, "", append([]string{"audit", "--config", writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+tables+"\n"), "--driver", p.driver, "--dsn", p.dsn}, strings.Fields(args)...)...)
			if r.code != 2 || !strings.Contains(r.errOut, want) {
				t.Errorf("%s: exit code %d, %q, want 2 and %q", args, r.code, r.errOut, want)
			}
		}
		for _, tenant := range []string{"a", "b-1"} {
			if _, err := p.open(t, bills).ExecContext(keyfill.WithValue(t.Context(), "tenant", tenant), "INSERT INTO bills (who) VALUES (1), (2), (3)"); err != nil {
				t.Fatal(err)
			}
		}
		p.exec(t, "DELETE FROM bills WHERE number = 'b-1-2'", "INSERT INTO bills VALUES ('b', 1)")
		refused(bills, "--table=bills", "say --value tenant=")
		audit(bills, "--table=bills --value=tenant=a", 1, "error text 0-0 1 map[]  b")
		audit(bills, "--table=bills --value=tenant=b-1", 1, "error text 0-0 1 map[]  b", "error gap 2-2 0 map[]  b-1-2")

		insert(notes, "INSERT INTO notes (who) VALUES (1), (2)")
		audit(notes, "--table=notes", 0)
		p.exec(t, "DELETE FROM notes WHERE number LIKE '%-0001'")
		audit(notes, "--table=notes", 0)
		p.exec(t, "DELETE FROM notes")
		audit(notes, "--table=notes", 0)

		for _, day := range []string{"2026-01-05", "2026-03-31", "2026-04-01"} {
			insert(fiscal, "INSERT INTO fiscal (day) VALUES ('"+day+"'), ('"+day+"')")
		}
		audit(fiscal, "--table=fiscal", 0)
		p.exec(t, "DELETE FROM fiscal WHERE number IN ('2025-26/4/100', '2026-27/1/101')", "INSERT INTO fiscal VALUES ('2026-27/4/100', '2027-01-01 00:00:00+02'), ('2025-26/4/200', '2026-04-31'), ('2025-26/5/2', '2026-01-01')")
		audit(fiscal, "--table=fiscal", 1, "error above 200-200 1 map[] 2025-Q4 2025-26/4/200", "error date 200-200 1 map[] 2025-Q4 2025-26/4/200",
			"error first 100-100 0 map[] 2025-Q4 2025-26/4/100", "error tail 101-101 0 map[] 2026-Q1 2026-27/1/101", "error text 0-0 1 map[]  2025-26/5/2",
			"info period 0-0 0 map[] 2026-Q2", "info state 0-0 1 map[]")
		refused(strings.Replace(fiscal, ", column: day", "", 1), "--table=fiscal", "take the policy of the programs")

		insert(shared, "INSERT INTO one (who) VALUES (1), (2)")
		insert(shared, "INSERT INTO two (who) VALUES (1), (2)")
		audit(shared, "--table=two", 0)
		p.exec(t, "DELETE FROM one WHERE number = 'S000001'")
		audit(shared, "--table=two", 1, "error first 1-1 0 map[]  S000001")

		book := strings.Repeat("é", 60) + strings.Repeat("x", 130)
		insert(long, "INSERT INTO chapters (book, day) VALUES ('"+book+"', '2026-01-01'), ('"+book+"', '2025-01-01'), ('it''s', '2026-01-01')")
		audit(long, "--table=chapters", 0)
		p.exec(t, "DELETE FROM chapters WHERE number LIKE '2026%'")
		audit(long, "--table=chapters", 1, "error period 1-1 0 map[] 2026", "error period 1-1 0 map[book:it's] 2026")

		insert(padded, "INSERT INTO padded (desk, who) VALUES ('A', 1), ('A', 2), ('B', 1)")
		audit(padded, "--table=padded", 0)
		insert(integer, "INSERT INTO integers (desk, who) VALUES ('A', 1), ('A', 2), ('B', 1)")
		audit(integer, "--table=integers", 0)
		p.exec(t, "DELETE FROM integers WHERE desk = 'A' AND no = 2")
		audit(integer, "--table=integers", 1, "error tail 2-2 0 map[desk:A]")
	})
}
