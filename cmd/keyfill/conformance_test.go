package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
)

var postgresql18 = testdb.New(testdb.PostgreSQL18())

// server is a database on which claims are tried.
type server struct {
	name string
	*planned
}

// conformanceServer returns an empty database. Its name is sqlite, mysql, pgx, postgres or
// pgx18.
func conformanceServer(t *testing.T, name string) *server {
	t.Helper()
	s := &server{name, &planned{driver: strings.TrimSuffix(name, "18")}}
	switch name {
	case "mysql":
		s.dsn = mariadb.DSN(mariadb.Database(t, name))
	case "pgx", "postgres":
		s.dsn = postgresql.DSN(postgresql.Database(t, name))
	case "pgx18":
		s.dsn = postgresql18.DSN(postgresql18.Database(t, "pgx"))
	default:
		s.dsn = "file:" + filepath.Join(t.TempDir(), "t.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate"
	}
	s.raw = s.open(t, "")
	return s
}

// eachConformance runs f on some of the servers: with -short on SQLite alone.
func eachConformance(t *testing.T, names []string, f func(t *testing.T, s *server)) {
	for _, name := range testturn.Some(t, names, 3) {
		if testing.Short() && name != "sqlite" {
			continue
		}
		t.Run(name, func(t *testing.T) { f(t, conformanceServer(t, name)) })
	}
}

// target returns the server as package conformance has it.
func (s *server) target() conformance.Target {
	d := map[string]*dialect.Dialect{"sqlite": dialect.SQLite(), "mysql": dialect.MariaDB(), "pgx": dialect.PostgreSQL(), "postgres": dialect.PostgreSQL()}[s.driver]
	return conformance.Target{Name: s.driver, Driver: s.raw.Driver(), DSN: s.dsn, Dialect: d}
}

// conformanceArgs are the arguments of a short run.
func (s *server) conformanceArgs(t *testing.T, more ...string) []string {
	t.Helper()
	t.Setenv("KEYFILL_TEST_DSN", s.dsn)
	args := []string{"conformance", "--driver", s.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--rows", "1203", "--rate", "1000000", "--shared"}
	return append(args, more...)
}

// testChild returns the command of a process that fills a table, with a planted fault.
func testChild(fault string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		command := exec.CommandContext(ctx, os.Args[0])
		command.Env = append(os.Environ(), faultVariable+"="+fault)
		return command
	}
}

// left returns what runs have left on the server.
func (s *server) left(t *testing.T) []string {
	t.Helper()
	all, err := conformance.Leftovers(t.Context(), s.target())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestConformance: each claim is shown on each server, or not tried for a reason, and
// nothing is left.
func TestConformance(t *testing.T) {
	eachConformance(t, []string{"sqlite", "mysql", "pgx", "pgx18", "postgres"}, func(t *testing.T, s *server) {
		var out bytes.Buffer
		rows := testturn.Share(t, 3000, 1203)
		if *updateScripts {
			rows = 100_000
		}
		report, err := conformance.Run(t.Context(), s.target(), conformance.Options{Rows: rows, Rate: 1_000_000, Shared: true, Child: testChild(""), Out: &out, By: "this repository's tests"})
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		notTried := map[string][]string{
			"sqlite":   {"native", "errors/missing", "session/settings"},
			"mysql":    {},
			"pgx":      {"told/last-insert-id", "told/identity"},
			"pgx18":    {"told/last-insert-id", "told/identity"},
			"postgres": {"told/last-insert-id", "told/identity"},
		}[s.name]
		for _, c := range report.Claims {
			want := conformance.Shown
			if slices.Contains(notTried, c.Name) {
				want = conformance.NotTried
			}
			if c.Result != want {
				t.Errorf("%s is %s, want %s: %s", c.Name, c.Result, want, c.Seen)
			}
		}
		if t.Failed() {
			t.Logf("%s", &out)
		}
		if len(report.Claims) != len(conformance.Claims(s.target().Dialect)) {
			t.Errorf("%d claims, want %d", len(report.Claims), len(conformance.Claims(s.target().Dialect)))
		}
		if all := s.left(t); len(all) > 0 {
			t.Errorf("left are %q", all)
		}
		if names := s.tables(t); len(names) > 0 {
			t.Errorf("the database has %q", names)
		}
		if name := map[string]string{"sqlite": "sqlite", "mysql": "mariadb-10.11", "pgx": "postgresql-15", "pgx18": "postgresql-18"}[s.name]; *updateScripts && name != "" {
			keepResult(t, name, report)
		}
		t.Logf("%d shown, %d not tried in %.1f s", report.Count(conformance.Shown), report.Count(conformance.NotTried), report.Seconds)
	})
}

// TestConformanceCommand: the command prints the report as JSON, which holds nothing of the
// DSN, and starts itself for the claim about processes.
func TestConformanceCommand(t *testing.T) {
	eachConformance(t, []string{"sqlite", "mysql", "pgx"}, func(t *testing.T, s *server) {
		r := keyfillRun(t, "", s.conformanceArgs(t, "--json", "--only", "blocks,catalog", "--by", "me")...)
		if r.code != 0 {
			t.Fatalf("%+v", r)
		}
		var report conformance.Report
		if err := json.Unmarshal([]byte(r.out), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Claims) != 2 || report.Count(conformance.Shown) != 2 || report.By != "me" || report.Flags != (conformance.Flags{Rows: 1203, Rate: 1_000_000, Shared: true}) || report.Server == "" || report.Time.IsZero() {
			t.Errorf("%s\n%s", r.out, r.errOut)
		}
		for _, secret := range []string{s.dsn, "127.0.0.1", "localhost", t.TempDir(), filepath.Dir(t.TempDir())} {
			if strings.Contains(r.out, secret) {
				t.Errorf("the report has %q:\n%s", secret, r.out)
			}
		}
		r = keyfillRun(t, "", s.conformanceArgs(t, "--only", "catalog")...)
		if r.code != 0 || !strings.Contains(r.out, "1 shown, 0 refused, 0 not tried") {
			t.Errorf("%+v", r)
		}
	})
}

// TestConformanceKilled: the schema of a killed run is named at the next start, stays, and
// is dropped when the user says so.
func TestConformanceKilled(t *testing.T) {
	eachConformance(t, []string{"pgx", "mysql", "sqlite"}, func(t *testing.T, s *server) {
		args := s.conformanceArgs(t, "--rows", "10000000", "--only", "order/sequence") // sets the variable of the DSN
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), commandVariable+"="+strings.Join(args, "\x1f"))
		errOut := new(bytes.Buffer)
		command.Stderr = errOut
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill() })
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		for !s.fills(t) {
			select {
			case err := <-ended:
				t.Fatalf("the run has ended: %v: %s", err, errOut)
			case <-time.After(20 * time.Millisecond):
			}
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		left := s.left(t)
		if len(left) != 1 {
			t.Fatalf("left are %q", left)
		}
		r := keyfillRun(t, "", s.conformanceArgs(t, "--only", "catalog")...)
		if r.code != 0 || !strings.Contains(r.errOut, "--drop "+left[0]) || strings.Contains(r.out, left[0]) {
			t.Errorf("the next run: %+v", r)
		}
		if now := s.left(t); !slices.Equal(now, left) {
			t.Errorf("left are %q, and were %q", now, left)
		}
		other := strings.Repeat("0", 16)
		if r := keyfillRun(t, "", s.conformanceArgs(t, "--drop", "keyfill_conformance_"+other)...); r.code != 1 {
			t.Errorf("a schema that is not there: %+v", r)
		}
		if r := keyfillRun(t, "", s.conformanceArgs(t, "--drop", "public")...); r.code != 1 || !strings.Contains(r.errOut, "no name of a schema") {
			t.Errorf("a schema of another name: %+v", r)
		}
		if r := keyfillRun(t, "", s.conformanceArgs(t, "--drop", left[0])...); r.code != 0 {
			t.Errorf("%+v", r)
		}
		if now := s.left(t); len(now) > 0 {
			t.Errorf("left are %q", now)
		}
	})
}

// fills reports whether a run has made the first table of a claim.
func (s *server) fills(t *testing.T) bool {
	t.Helper()
	left := s.left(t)
	if len(left) == 0 {
		return false
	}
	if s.driver == "sqlite" {
		info, err := os.Stat(filepath.Join(filepath.Dir(s.file()), left[0], "conformance.db-wal"))
		return err == nil && info.Size() > 100_000
	}
	var n int
	return s.raw.QueryRow("SELECT COUNT(*) FROM "+left[0]+".kf_1").Scan(&n) == nil && n > 0
}

// TestConformanceTouchesNothing: tables of the user's with all the names that a run uses
// are as they were, and were neither written to nor, where the server counts that, read.
func TestConformanceTouchesNothing(t *testing.T) {
	eachConformance(t, []string{"pgx", "mysql"}, func(t *testing.T, s *server) {
		names := s.trap(t)
		r := keyfillRun(t, "", s.conformanceArgs(t, "--rows", "100")...)
		if r.code != 0 {
			t.Errorf("%+v", r)
		}
		if n := s.count(t, "SELECT COUNT(*) FROM accesses"); n != 0 {
			t.Errorf("%d accesses", n)
		}
		for _, name := range names {
			if n := s.count(t, "SELECT COUNT(*) FROM "+name); n != 1 {
				t.Errorf("%s has %d rows, and had 1", name, n)
			}
		}
		if err := exec1(s.raw, "UPDATE "+names[0]+" SET id = 3"); err != nil {
			t.Fatal(err)
		}
		if n := s.count(t, "SELECT COUNT(*) FROM accesses"); n == 0 {
			t.Error("an access is not recorded: this test sees nothing")
		}
	})
}

// trap makes 40 tables with triggers that record what writes to them, and returns their
// names. On PostgreSQL the statistics of the server are reset, so that reads show as well.
func (s *server) trap(t *testing.T) (names []string) {
	t.Helper()
	names = []string{"customers", "orders", "receipts", "order_lines", "parts", "stock", "shipments", "contacts", "memos", "old_shipments", "old_contacts",
		"kf_orders", "kf_integers", "kf_identity", "kf_declared", "kf_blocks", "kf_native", "keyfill_sequences", "keyfill_workers", "keyfill_series", "keyfill_conformance"}
	for i := 1; len(names) < 40; i++ {
		names = append(names, fmt.Sprintf("kf_%d", i))
	}
	s.exec(t, "CREATE TABLE accesses (what VARCHAR(90))")
	if s.driver != "mysql" {
		s.exec(t, "CREATE FUNCTION note_access() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.accesses VALUES (TG_TABLE_NAME || TG_OP); RETURN NULL; END $$")
	}
	for _, name := range names {
		s.exec(t, "CREATE TABLE "+name+" (id INT)", "INSERT INTO "+name+" VALUES (1)")
		if s.driver != "mysql" {
			s.exec(t, "CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "+name+" EXECUTE FUNCTION note_access()")
			continue
		}
		for _, what := range []string{"INSERT", "UPDATE", "DELETE"} {
			s.exec(t, fmt.Sprintf("CREATE TRIGGER %s_%s AFTER %s ON %s FOR EACH ROW INSERT INTO accesses VALUES ('%s')", name, what, what, name, name))
		}
	}
	return names
}

// TestConformanceShared: a server with other sessions, or with a publication of all
// tables, is refused unless the user says that others may notice the run.
func TestConformanceShared(t *testing.T) {
	eachConformance(t, []string{"pgx", "mysql", "pgx18"}, func(t *testing.T, s *server) {
		args := slices.DeleteFunc(s.conformanceArgs(t, "--only", "catalog"), func(a string) bool { return a == "--shared" })
		conn, err := s.raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		want := []string{"other sessions are at work"}
		if s.driver != "mysql" {
			s.exec(t, "CREATE PUBLICATION everything FOR ALL TABLES")
			want = append(want, "publications hold all tables")
		}
		r := keyfillRun(t, "", args...)
		for _, text := range want {
			if r.code != 1 || !strings.Contains(r.errOut, text) || !strings.Contains(r.errOut, "--shared") || r.out != "" {
				t.Errorf("%+v, want %q", r, text)
			}
		}
		if all := s.left(t); len(all) > 0 {
			t.Errorf("left are %q", all)
		}
		if r := keyfillRun(t, "", append(args, "--shared")...); r.code != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestConformancePooler: a session that a pooler gives to several connections is refused.
func TestConformancePooler(t *testing.T) {
	if testing.Short() || !testturn.Of(t, 0, 3) {
		return
	}
	name := postgresql.Database(t, "postgres")
	s := &server{"postgres", &planned{driver: "postgres", dsn: testdb.Start(t, testdb.PgBouncer(postgresql, "transaction", 4)).DSN(name)}}
	r := keyfillRun(t, "", s.conformanceArgs(t, "--only", "catalog")...)
	if r.code != 1 || !strings.Contains(r.errOut, "pooler") {
		t.Errorf("%+v", r)
	}
}

// TestConformanceRefuses: what cannot be tried is an error before anything is made.
func TestConformanceRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.db")
	for _, tt := range []struct {
		want string
		args []string
		code int
	}{
		{"say --driver", []string{"--dsn", "x"}, 2},
		{"--dsn and --dsn-env", []string{"--driver", "sqlite"}, 2},
		{"--rows 3", []string{"--driver", "sqlite", "--dsn", file, "--rows", "3"}, 2},
		{"--rate 0", []string{"--driver", "sqlite", "--dsn", file, "--rate", "0"}, 2},
		{"in memory", []string{"--driver", "sqlite", "--dsn", ":memory:"}, 1},
		{"cannot read the DSN", []string{"--driver", "mysql", "--dsn", "secret"}, 2},
		{"no such file", []string{"--driver", "sqlite", "--dsn", filepath.Join(file, "x", "y.db")}, 1},
	} {
		r := keyfillRun(t, "", append([]string{"conformance"}, tt.args...)...)
		if r.code != tt.code || !strings.Contains(r.errOut, tt.want) || strings.Contains(r.errOut, "secret") || r.out != "" {
			t.Errorf("%q: %+v, want %d and %q", tt.args, r, tt.code, tt.want)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file of the DSN was made")
	}
}

// TestConformanceGalera: on a cluster of three nodes each claim is shown but for native,
// which keyfill refuses there, and a cluster is refused without --shared.
func TestConformanceGalera(t *testing.T) {
	if testing.Short() || !testturn.Of(t, 0, 24) { // a cluster takes a minute
		return
	}
	nodes := testdb.StartGalera(t, "mysql", 3)
	s := &server{"mysql", &planned{driver: "mysql", dsn: nodes[1].DSN(nodes[1].Database(t, "mysql"))}}
	s.raw = s.open(t, "")
	var out bytes.Buffer
	o := conformance.Options{Rows: 1203, Rate: 1_000_000, Child: testChild(""), Out: &out}
	if _, err := conformance.Run(t.Context(), s.target(), o); err == nil || !strings.Contains(err.Error(), "a node of a cluster") {
		t.Errorf("without --shared: %v", err)
	}
	o.Shared = true
	report, err := conformance.Run(t.Context(), s.target(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, c := range report.Claims {
		if refused := c.Result != conformance.Shown; refused != (c.Name == "native") {
			t.Errorf("%s is %s: %s", c.Name, c.Result, c.Seen)
		}
	}
	if all := s.left(t); len(all) > 0 {
		t.Errorf("left are %q", all)
	}
	t.Logf("%d shown in %.1f s\n%s", report.Count(conformance.Shown), report.Seconds, &out)
}
