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
