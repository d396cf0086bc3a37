package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/sqllog"
)

// logOf writes a log of so many lines in which an application inserts, reads and updates;
// each value holds the word secret. The dialect is the server's.
func logOf(t testing.TB, format sqllog.Format, lines int) (file, dialect string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), string(format))
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	written := 0
	line := func(text string, args ...any) {
		if written < lines {
			fmt.Fprintf(w, text+"\n", args...)
			written++
		}
	}
	dialect = "postgres"
	if format == sqllog.General || format == sqllog.Slow {
		dialect = "mysql"
	}
	for n := 0; written < lines; n++ {
		text := []string{
			"INSERT INTO orders (a, b) VALUES ('secret %d', 17)",
			"SELECT a, b FROM orders WHERE a = 'secret %d'",
			"UPDATE customers SET name = 'secret %d' WHERE id = 4",
			"INSERT INTO nowhere (a) VALUES ('secret %d')",
		}[n%4]
		text = fmt.Sprintf(text, n)
		switch format {
		case sqllog.CSV:
			line(`2026-11-23 12:00:00.%03d UTC,"shop","shop",417,"127.0.0.1:5000",6921.%d,%d,"INSERT",2026-11-23 11:00:00 UTC,3/7,0,LOG,00000,"execute stmtcache_1: %s","parameters: $1 = 'secret'",,,,,,,,"app","client backend",,0`, n%1000, n, n, text)
		case sqllog.JSON:
			line(`{"timestamp":"2026-11-23 12:00:00.%03d UTC","user":"shop","dbname":"shop","pid":417,"line_num":%d,"ps":"INSERT","error_severity":"LOG","message":"duration: 0.1%d ms  statement: %s","detail":"parameters: $1 = 'secret'","backend_type":"client backend","query_id":0}`, n%1000, n, n, text)
		case sqllog.Stderr:
			line("2026-11-23 12:00:00.%03d UTC [417] shop@shop LOG:  statement: %s", n%1000, text)
			if n%8 == 0 {
				line("2026-11-23 12:00:00.%03d UTC [417] shop@shop DETAIL:  parameters: $1 = 'secret'", n%1000)
			}
		case sqllog.General:
			line("2026-11-23T12:00:00.%06dZ\t   17 Query\t%s", n%1000000, text)
		case sqllog.Slow:
			line("# User@Host: shop[shop] @ localhost []  Id:    17")
			line("# Query_time: 0.000%03d  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0", n%1000)
			line("SET timestamp=17000%05d;", n%100000)
			line("%s;", text)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file, dialect
}

func testExplainPolicy(t testing.TB, config, dialect string) *explainPolicy {
	t.Helper()
	p, err := newExplainPolicy(t.Context(), config, dialect, &databaseFlags{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExplainLogHides: explain prints no literal of a logged statement, unless a flag asks
// for the statements.
func TestExplainLogHides(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", testPolicy)
	for _, format := range sqllog.Formats() {
		file, dialect := logOf(t, format, 200)
		for _, args := range [][]string{nil, {"--json"}, {"--summary=false"}, {"--summary", "--json"}} {
			args = append([]string{"explain", "--config", config, "--dialect", dialect, "-f", file}, args...)
			out := keyfillOut(t, "", args...)
			if !strings.Contains(out, "orders") || !strings.Contains(out, "INSERT INTO nowhere (a) VALUES ('…')") && !strings.Contains(strings.Join(args, " "), "--summary=false") {
				t.Errorf("%s %q: %.500s", format, args, out)
			}
			if strings.Contains(out, "secret") || strings.Contains(out, "17)") {
				t.Errorf("%s %q: a value is shown: %.500s", format, args, out)
			}
			if out := keyfillOut(t, "", append(args, "--literals")...); !strings.Contains(out, "secret 0") {
				t.Errorf("%s %q: no value is shown with --literals: %.500s", format, args, out)
			}
		}
	}
}

// TestExplainLogFormat: --format says what a log is, and a file that is none says so.
func TestExplainLogFormat(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", testPolicy)
	for _, format := range sqllog.Formats() {
		file, dialect := logOf(t, format, 40)
		args := []string{"explain", "--config", config, "--dialect", dialect, "-f", file}
		found := keyfillOut(t, "", args...)
		if named := keyfillOut(t, "", append(args, "--format", string(format))...); named != found {
			t.Errorf("%s: %s, and found by itself: %s", format, named, found)
		}
	}
	script := writeFile(t, "a.sql", "INSERT INTO orders (a) VALUES (1);\n")
	for _, format := range []sqllog.Format{sqllog.CSV, sqllog.JSON} {
		r := keyfillRun(t, "", "explain", "--config", config, "--dialect", "postgres", "-f", script, "--format", string(format))
		if want := "line 1: this is no line of a " + string(format) + " log"; r.code != 1 || !strings.Contains(r.errOut, want) {
			t.Errorf("%s: exit code %d, %s, want %s", format, r.code, r.errOut, want)
		}
	}
}

// TestSummaryIsBounded: a log with more shapes and tables than are kept is counted to its
// end, and what is kept does not grow.
func TestSummaryIsBounded(t *testing.T) {
	p := testExplainPolicy(t, writeFile(t, "keyfill.yaml", testPolicy), "postgres")
	s := newSummary(p)
	word := func(n int) string { // without digits, which a shape leaves out
		return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(n))
	}
	const all = 30_000
	for n := range all {
		one := inputStatement{file: "a", line: n, text: "INSERT INTO orders (" + word(n) + ") VALUES (1)", log: true}
		if n%2 == 1 {
			one.text = "INSERT INTO " + word(n) + " (a) VALUES (1)"
		}
		ex, err := p.explainer.Explain(one.text)
		if err != nil {
			t.Fatal(err)
		}
		s.add(&one, &ex)
	}
	shapes, statements := 0, 0
	for _, g := range s.groups {
		shapes += len(g.shapes)
		statements += g.statements
	}
	if len(s.groups) > maxGroups+len(actions) || shapes > maxShapes || len(s.hints) > maxHints || statements != all {
		t.Errorf("%d groups, %d shapes, %d hints, %d statements", len(s.groups), shapes, len(s.hints), statements)
	}
	if s.total["fill"] != all/2 || s.total["pass"] != all/2 {
		t.Errorf("%v", s.total)
	}
}

// TestHints: an entry of the policy that is likely meant is told, and no other.
func TestHints(t *testing.T) {
	p := testExplainPolicy(t, writeFile(t, "keyfill.yaml", `version: 1
dialect: postgres
tables:
  orders: {column: id}
  sales.invoices: {column: id}
  "\"People\"": {column: id}
  id: {column: id}
  rows: {column: id, source: identity}
  "log_*": {column: id}
`), "")
	for text, want := range map[string]string{
		"INSERT INTO oders (a) VALUES (1)":                              "the policy has orders, whose name differs in one letter",
		`INSERT INTO "Orders" (a) VALUES (1)`:                           "the policy has orders, whose name differs in its case",
		"INSERT /* c */ INTO /* ; */ people (a) VALUES (1)":             `the policy has "People", whose name differs in its case`,
		"INSERT INTO old . invoices (a) VALUES (1)":                     "the policy has sales.invoices, a table of another schema",
		"WITH a AS (SELECT 1) INSERT INTO orderz SELECT 1":              "the policy has orders, whose name differs in one letter",
		"INSERT INTO invoicse (a) VALUES (1)":                           "",
		"INSERT INTO is (a) VALUES (1)":                                 "",
		"INSERT INTO rows (a) VALUES (1)":                               "",
		"INSERT INTO customers (a) VALUES (1)":                          "",
		"CREATE TRIGGER t BEFORE INSERT ON oders EXECUTE FUNCTION f ()": "",
		"GRANT INSERT ON oders TO x":                                    "",
		"INSERT INTO 'open":                                             "",
		"SELECT 'INSERT INTO oders (a) VALUES (1)' FROM orders":         "",
	} {
		ex, err := p.explainer.Explain(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := newSummary(p).hint(text, &ex); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestMaskedText: strings, numbers and comments are left out, names stay.
func TestMaskedText(t *testing.T) {
	for _, tt := range []struct{ dialect, text, want string }{
		{"postgres", "INSERT INTO t1 (\"a\", b)\n VALUES ($1, E'x\\'y', 0x1F, 1.5e3, .5, $$z$$) -- secret", `INSERT INTO t1 ("a", b) VALUES ($1, '…', 0, 0, 0, '…')`},
		{"mysql", "INSERT INTO t (`a`) VALUES (\"x\", 'y', 1, ?, @v) # secret", "INSERT INTO t (`a`) VALUES ('…', '…', 0, ?, @v)"},
		{"mysql", "SELECT /*! secret */ 'open", "SELECT … …"},
		{"sqlserver", "INSERT INTO [t] VALUES (N'x', 1, @p1)", "INSERT INTO [t] VALUES ('…', 0, @p1)"},
	} {
		p := testExplainPolicy(t, writeFile(t, "keyfill.yaml", testPolicy), tt.dialect)
		if got := maskedText(p.dialect, tt.text); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
