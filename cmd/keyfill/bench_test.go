package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/bench"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/testturn"
)

// ownTable is the form of the names of tables that a run makes.
var ownTable = regexp.MustCompile(`^keyfill_bench_[0-9a-f]{16}_[0-9]+$`)

// eachBenched runs f on an empty database for each driver. With -short it is SQLite
// alone.
func eachBenched(t *testing.T, f func(t *testing.T, p *planned)) {
	eachPlanned(t, f)
	if testing.Short() || !testturn.Of(t, 0, 3) {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		p := &planned{driver: "postgres", dsn: postgresql.DSN(postgresql.Database(t, "postgres"))}
		p.raw = p.open(t, "")
		f(t, p)
	})
}

// TestBenchLock: a run begins as soon as the one before has ended, and not before.
func TestBenchLock(t *testing.T) {
	dialects := map[string]*dialect.Dialect{"sqlite": dialect.SQLite(), "mysql": dialect.MariaDB(), "pgx": dialect.PostgreSQL(), "postgres": dialect.PostgreSQL()}
	eachBenched(t, func(t *testing.T, p *planned) {
		for i := range 100 {
			unlock, err := bench.Lock(t.Context(), p.raw, dialects[p.driver])
			if err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
			if _, err := bench.Lock(t.Context(), p.raw, dialects[p.driver]); err == nil || !strings.Contains(err.Error(), "another keyfill bench runs") {
				t.Errorf("run %d: a second one beside it: %v", i, err)
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// tables returns the names of the tables of a database.
func (p *planned) tables(t *testing.T) (names []string) {
	t.Helper()
	query := map[string]string{
		"sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
		"mysql":  "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME",
	}[p.driver]
	if query == "" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
	}
	rows, err := p.raw.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// benchArgs are the arguments of a short measurement.
func (p *planned) benchArgs(t *testing.T, more ...string) []string {
	t.Helper()
	t.Setenv("KEYFILL_TEST_DSN", p.dsn)
	args := []string{"bench", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--rounds", "1", "--connections", "2,1"}
	return append(args, more...)
}

// TestBench measures on each engine, beside a program that uses keyfill and a table with
// rows: both are as they were afterwards, and nothing of the DSN is printed.
func TestBench(t *testing.T) {
	eachBenched(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+map[bool]string{true: "INTEGER PRIMARY KEY", false: "BIGINT PRIMARY KEY"}[p.driver == "sqlite"]+", note VARCHAR(20))")
		if err := exec1(p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true}}"), "INSERT INTO orders (note) VALUES ('a')"); err != nil {
			t.Fatal(err)
		}
		before := p.tables(t)
		page := filepath.Join(t.TempDir(), "page.html")
		args := p.benchArgs(t, "--rows", "1203", "--time", "1m", "--max-rows", "20", "--json", "--html", page)
		r := keyfillRun(t, "", args...)
		if r.code != 1 || !strings.Contains(r.errOut, "such as") || !strings.Contains(r.errOut, "say --yes") || r.out != "" {
			t.Fatalf("without --yes: %+v", r)
		}
		if after := p.tables(t); !slices.Equal(after, before) {
			t.Fatalf("the tables are %q, and were %q", after, before)
		}
		if entries, err := os.ReadDir(filepath.Dir(page)); err != nil || len(entries) > 0 {
			t.Fatalf("the folder of the page holds %v, %v", entries, err)
		}
		r = keyfillRun(t, "", append(args, "--yes")...)
		if r.code != 0 || r.errOut != "" {
			t.Fatalf("%+v", r)
		}
		var report bench.Report
		if err := json.Unmarshal([]byte(r.out), &report); err != nil {
			t.Fatal(err)
		}
		checkReport(t, &report)
		if after := p.tables(t); !slices.Equal(after, before) {
			t.Errorf("the tables are %q, and were %q", after, before)
		}
		if states := p.count(t, "SELECT COUNT(*) FROM keyfill_sequences"); states != 1 {
			t.Errorf("keyfill_sequences has %d rows, want the row of orders", states)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, told := range []string{r.out, string(text)} {
			if strings.Contains(told, p.dsn) || strings.Contains(told, "127.0.0.1") || strings.Contains(told, t.TempDir()) {
				t.Errorf("the DSN is told:\n%s", told)
			}
		}
	})
}

func exec1(db *sql.DB, query string) error {
	_, err := db.Exec(query)
	return err
}

// checkReport looks whether all that was to be measured was.
func checkReport(t *testing.T, r *bench.Report) {
	t.Helper()
	if len(r.Layouts) != len(measure.Layouts()) || len(r.Ways) != 2*len(bench.Methods(measure.Layouts())) || r.Rows != 1203 || !slices.Equal(r.Connections, []int{1, 2}) {
		t.Fatalf("%d layouts, %d ways: %+v", len(r.Layouts), len(r.Ways), r)
	}
	for _, l := range r.Layouts {
		if l.Refused != "" || l.Seconds == nil || l.Seconds.Median <= 0 || l.Ratio == nil || l.Ratio.Median <= 0 || l.Table == 0 {
			t.Errorf("%+v", l)
		}
	}
	for _, w := range r.Ways {
		if w.Refused != "" || w.Rate == nil || w.Rate.Median <= 0 || w.Ratio == nil {
			t.Errorf("%+v", w)
		}
	}
}

// TestBenchKilled: what a killed run has left stays known, the next run drops it, and
// meanwhile no second one begins.
func TestBenchKilled(t *testing.T) {
	eachBenched(t, func(t *testing.T, p *planned) {
		command, _ := p.startBench(t)
		r := keyfillRun(t, "", p.benchArgs(t, "--rows", "4", "--time", "0", "--yes")...)
		if r.code != 1 || !strings.Contains(r.errOut, "another keyfill bench runs") {
			t.Errorf("a second run: %+v", r)
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait() // it was killed
		if left := p.tables(t); !slices.ContainsFunc(left, ownTable.MatchString) || !slices.Contains(left, "keyfill_bench_tables") {
			t.Fatalf("nothing is left: %q", left)
		}
		// The server learns of the end of a connection by and by.
		for begin := time.Now(); ; {
			r := keyfillRun(t, "", p.benchArgs(t, "--rows", "4", "--time", "0", "--yes")...)
			if r.code == 0 {
				break
			}
			if time.Since(begin) > time.Minute || !strings.Contains(r.errOut, "another keyfill bench") {
				t.Fatalf("the next run: %+v", r)
			}
		}
		if left := p.tables(t); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	})
}

// TestBenchInterrupted: an interrupt ends the run, which drops its tables.
func TestBenchInterrupted(t *testing.T) {
	eachBenched(t, func(t *testing.T, p *planned) {
		command, errOut := p.startBench(t)
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait()
		if code := command.ProcessState.ExitCode(); code != 1 || !strings.Contains(errOut.String(), "canceled") {
			t.Errorf("exit code %d: %s", code, errOut)
		}
		if left := p.tables(t); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
		if p.driver == "sqlite" {
			if files, _ := filepath.Glob(filepath.Join(filepath.Dir(p.file()), "*-keyfill-bench*")); files != nil {
				t.Errorf("left are %q", files)
			}
		}
	})
}

// file returns the path of SQLite's database.
func (p *planned) file() string {
	path, _, _ := strings.Cut(strings.TrimPrefix(p.dsn, "file:"), "?")
	return path
}

// startBench starts a run in a process of its own, which runs until it is ended, and
// waits until it stores rows.
func (p *planned) startBench(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	args := p.benchArgs(t, "--rows", "10000000", "--yes")
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), commandVariable+"="+strings.Join(args, "\x1f"))
	errOut := new(bytes.Buffer)
	command.Stderr = errOut
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	for {
		i := slices.IndexFunc(p.tables(t), ownTable.MatchString)
		if i >= 0 {
			return command, errOut
		}
		if command.ProcessState != nil || syscall.Kill(command.Process.Pid, 0) != nil {
			t.Fatalf("the run has ended: %s", errOut)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestBenchDropsItsOwn: what stands in the ledger under another name is not dropped, nor
// is a table of keyfill's that has rows of others.
func TestBenchDropsItsOwn(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE keyfill_bench_tables (run VARCHAR(16) NOT NULL, table_name VARCHAR(64) NOT NULL, PRIMARY KEY (run, table_name))", "CREATE TABLE orders (id INT)", "CREATE TABLE keyfill_bench_x_1 (id INT)",
			"CREATE TABLE keyfill_bench_00112233445566aa_7 (id INT)")
		for _, name := range []string{"orders", "keyfill_bench_x_1", "keyfill_bench_00112233445566aa_7", "keyfill_sequences"} {
			p.exec(t, fmt.Sprintf("INSERT INTO keyfill_bench_tables (run, table_name) VALUES ('00112233445566aa', '%s')", name))
		}
		db := p.open(t, "own: {column: id, source: {kind: sequence, ensure_schema: true}}")
		p.exec(t, "CREATE TABLE own (id BIGINT PRIMARY KEY, note VARCHAR(20))")
		if p.driver == "sqlite" {
			p.exec(t, "DROP TABLE own", "CREATE TABLE own (id INTEGER PRIMARY KEY, note VARCHAR(20))")
		}
		if err := exec1(db, "INSERT INTO own (note) VALUES ('a')"); err != nil {
			t.Fatal(err)
		}
		keyfillOut(t, "", p.benchArgs(t, "--rows", "4", "--time", "0", "--yes")...)
		want := []string{"keyfill_bench_x_1", "keyfill_sequences", "keyfill_series", "keyfill_workers", "orders", "own"}
		if left := p.tables(t); !slices.Equal(left, want) {
			t.Errorf("left are %q, want %q", left, want)
		}
	})
}

// TestBenchRefuses: what cannot be measured is an error before anything is measured.
func TestBenchRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.db")
	for _, tt := range []struct {
		want string
		args []string
		code int
	}{
		{"sqlite, mysql, pgx and postgres", []string{"--driver", "oracle", "--dsn", "x"}, 2},
		{"--dsn and --dsn-env", []string{"--driver", "sqlite"}, 2},
		{"--rows 3", []string{"--driver", "sqlite", "--dsn", file, "--rows", "3"}, 2},
		{"--max-rows 0", []string{"--driver", "sqlite", "--dsn", file, "--max-rows", "0"}, 2},
		{"--rounds 0", []string{"--driver", "sqlite", "--dsn", file, "--rounds", "0"}, 2},
		{"--time -1s", []string{"--driver", "sqlite", "--dsn", file, "--time", "-1s"}, 2},
		{"--connections 300", []string{"--driver", "sqlite", "--dsn", file, "--connections", "300"}, 2},
		{"--html", []string{"--driver", "sqlite", "--dsn", file, "--html", filepath.Join(file, "x", "y.html")}, 2},
		{"in memory", []string{"--driver", "sqlite", "--dsn", ":memory:"}, 1},
		{"cannot read the DSN", []string{"--driver", "mysql", "--dsn", "secret"}, 2},
	} {
		r := keyfillRun(t, "", append([]string{"bench"}, tt.args...)...)
		if r.code != tt.code || !strings.Contains(r.errOut, tt.want) || strings.Contains(r.errOut, "secret") || r.out != "" {
			t.Errorf("%q: %+v, want %d and %q", tt.args, r, tt.code, tt.want)
		}
	}
}

// TestConfirmed: only a yes is one.
func TestConfirmed(t *testing.T) {
	for in, want := range map[string]bool{"y\n": true, "Yes\n": true, " YES ": true, "\n": false, "": false, "n\n": false, "yesterday\n": false} {
		if err := confirmed(strings.NewReader(in)); (err == nil) != want {
			t.Errorf("confirmed(%q) = %v", in, err)
		}
	}
}
