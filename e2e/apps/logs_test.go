package apps_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/sqllog"
	"github.com/keyfill/keyfill/internal/testdb"
)

// lastMark is in the last statement that a test executes: when it is in the log, all are.
const lastMark = "the last of all"

// secret is a value of a parameter, which no reader of a log of PostgreSQL gives.
const secret = "a secret of a customer"

// sent are the statements that an application executes, with their arguments.
func sent(d *dialect.Dialect) []query {
	one := "?"
	if d.Params.Dollar {
		one = "$1"
	}
	return []query{
		{text: "INSERT INTO orders (note) VALUES ('it''s; \"a\", note')"},
		{text: "INSERT INTO orders (note) VALUES (" + one + ")", args: []any{secret + "; it's\nLOG:  statement: INSERT INTO no (a) VALUES (1)"}},
		{text: "INSERT INTO orders (note)\n\tVALUES\n('two\n\tlines\n# Time: ')"},
		{text: "SELECT id FROM orders\nWHERE note = " + one, args: []any{secret}},
		{text: "UPDATE orders SET note = 'x'"},
		{text: "SELECT '" + lastMark + "' FROM orders"},
	}
}

type query struct {
	text string
	args []any
}

// executeLogged executes the statements on one connection.
func executeLogged(t *testing.T, db *sql.DB, d *dialect.Dialect, first ...string) {
	t.Helper()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range first {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range sent(d) {
		if !strings.HasPrefix(one.text, "SELECT") {
			_, err = conn.ExecContext(ctx, one.text, one.args...)
		} else if rows, queryErr := conn.QueryContext(ctx, one.text, one.args...); queryErr == nil {
			for rows.Next() {
			}
			err = rows.Close()
		} else {
			err = queryErr
		}
		if err != nil {
			t.Fatalf("%s: %v", one.text, err)
		}
	}
}

// read returns the statements about orders in the log, in the order of their execution,
// when the last one is there n times.
func read(t *testing.T, file string, format sqllog.Format, n int) []string {
	t.Helper()
	var all []string
	harness.Eventually(t, func() error { // a process of its own writes the log
		head, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := sqllog.Detect(head[:min(len(head), 64<<10)]); found != format {
			return fmt.Errorf("%s: Detect = %q, want %q", file, found, format)
		}
		all = nil
		lasts := 0
		for one, err := range sqllog.Statements(format, strings.NewReader(string(head))) {
			if err != nil {
				return err
			}
			if lines := strings.Count(string(head), "\n"); one.Line < 1 || one.Line > lines {
				return fmt.Errorf("line %d of %d", one.Line, lines)
			}
			if strings.Contains(one.Text, " orders") && !strings.Contains(one.Text, "CREATE") {
				all = append(all, one.Text)
			}
			if strings.Contains(one.Text, lastMark) {
				lasts++
			}
		}
		if lasts < n {
			return fmt.Errorf("%s has the last statement %d times, want %d", file, lasts, n)
		}
		return nil
	})
	keep(t, file, format)
	return all
}

// keep copies a log into the folder that KEYFILL_TEST_KEEP_LOGS names, for the author of
// a test of a reader.
func keep(t *testing.T, file string, format sqllog.Format) {
	folder := os.Getenv("KEYFILL_TEST_KEEP_LOGS")
	if folder == "" {
		return
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, string(format)), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPostgreSQL: each of the three logs has the statements as they were sent, by each
// setting that logs statements, and never a parameter.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := testdb.Start(t, testdb.PostgreSQL().With(
		"-c", "logging_collector=on", "-c", "log_destination=stderr,csvlog,jsonlog", "-c", "log_directory=log",
		"-c", "log_line_prefix=%m [%p] %q%u@%d/%a LOG: ", "-c", "lc_messages=C",
	))
	name := server.Database(t, "pgx")
	var want []string
	n := 0
	for _, driver := range []string{"pgx", "postgres"} {
		db, err := sql.Open(driver, server.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE IF NOT EXISTS orders (id BIGSERIAL, note TEXT)"); err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"SET log_statement = 'all'", "SET log_min_duration_statement = 0"} {
			executeLogged(t, db, dialect.PostgreSQL(), "RESET ALL", set)
			for _, one := range sent(dialect.PostgreSQL()) {
				want = append(want, one.text)
			}
			n++
		}
	}
	db, err := sql.Open("pgx", server.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for kind, format := range map[string]sqllog.Format{"csvlog": sqllog.CSV, "jsonlog": sqllog.JSON, "stderr": sqllog.Stderr} {
		var folder, file string
		if err := db.QueryRow("SELECT current_setting('data_directory'), pg_current_logfile($1)", kind).Scan(&folder, &file); err != nil {
			t.Fatal(err)
		}
		got := read(t, filepath.Join(folder, file), format, n)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", kind, got, want)
		}
		if strings.Contains(strings.Join(got, ""), secret) {
			t.Errorf("%s: a parameter is in a statement", kind)
		}
	}
}

// TestMariaDB: the general log and the slow query log have each execution once, with the
// values of the parameters in the text.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := testdb.Start(t, testdb.MariaDB().With(
		"--log-output=FILE", "--general-log=1", "--slow-query-log=1", "--long-query-time=0",
	))
	name := server.Database(t, "mysql")
	d := dialect.MariaDB()
	var want []string
	n := 0
	for _, options := range []string{"", "interpolateParams=true"} {
		dsn := server.DSN(name)
		if options != "" {
			dsn += "?" + options
		}
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, note TEXT)"); err != nil {
			t.Fatal(err)
		}
		executeLogged(t, db, d)
		for _, one := range sent(d) {
			want = append(want, one.text)
		}
		n++
	}
	db, err := sql.Open("mysql", server.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for variable, format := range map[string]sqllog.Format{"@@general_log_file": sqllog.General, "@@slow_query_log_file": sqllog.Slow} {
		var folder, file string
		if err := db.QueryRow("SELECT @@datadir, "+variable).Scan(&folder, &file); err != nil {
			t.Fatal(err)
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		got := read(t, file, format, n)
		if len(got) != len(want) {
			t.Fatalf("%s: %d statements, want %d:\n%q", format, len(got), len(want), got)
		}
		for i := range want {
			if effects.Shape(d, got[i]) != effects.Shape(d, want[i]) {
				t.Errorf("%s: %q, want the shape of %q", format, got[i], want[i])
			}
			if !strings.Contains(want[i], "?") && got[i] != want[i] {
				t.Errorf("%s: %q, want %q", format, got[i], want[i])
			}
		}
	}
}
