package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
)

// TestMain runs the tests, or a command in a process of its own.
func TestMain(m *testing.M) {
	if line := os.Getenv(commandVariable); line != "" {
		code := run(context.Background(), strings.Split(line, "\x1f"), os.Stdin, os.Stdout, os.Stderr)
		writeMemory()
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "conformance" { // a process that the command starts: see itself
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if fault, given := os.LookupEnv(faultVariable); given {
		os.Exit(faultyChild(fault))
	}
	testdb.Main(m, mariadb, postgresql, postgresql18)
}

// planned is a database whose plans are executed.
type planned struct {
	driver, dsn string
	raw         *sql.DB
}

// serial is the key column that the engine of a driver numbers.
var serial = map[string]string{
	"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
	"mysql":  "BIGINT AUTO_INCREMENT PRIMARY KEY",
	"pgx":    "BIGSERIAL PRIMARY KEY",
}

// eachPlanned runs f on an empty database of each engine. With -short it is SQLite
// alone, as what starts servers is left out there.
func eachPlanned(t *testing.T, f func(t *testing.T, p *planned)) {
	for _, name := range []string{"sqlite", "mysql", "pgx"} {
		if testing.Short() && name != "sqlite" {
			continue
		}
		if turn := testturn.One(t, []string{"mysql", "pgx"}); testturn.Enabled(t) && name != "sqlite" && name != turn {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := &planned{driver: name}
			switch name {
			case "mysql":
				p.dsn = mariadb.DSN(mariadb.Database(t, name))
			case "pgx":
				p.dsn = postgresql.DSN(postgresql.Database(t, name))
			default:
				p.dsn = "file:" + filepath.Join(t.TempDir(), "t.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate"
			}
			p.raw = p.open(t, "")
			f(t, p)
		})
	}
}

// open opens the database as a process of its own does: by the plain driver, or with
// keyfill by the tables of a policy.
func (p *planned) open(t *testing.T, tables string) *sql.DB {
	t.Helper()
	raw, err := sql.Open(p.driver, p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	if tables == "" {
		return raw
	}
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  " + tables + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.StoreWait = time.Minute // a busy machine may take more than the ten seconds of the default
	c := database.NewConnector(raw.Driver(), p.dsn)
	db, err := keyfill.OpenDB(c, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (p *planned) exec(t *testing.T, queries ...string) {
	t.Helper()
	for _, query := range queries {
		if _, err := p.raw.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// steps prints a plan and returns its steps.
func (p *planned) steps(t *testing.T, args ...string) []plan.Step {
	t.Helper()
	t.Setenv("KEYFILL_TEST_DSN", p.dsn)
	var out, errOut bytes.Buffer
	args = append([]string{"plan"}, append(args, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--json")...)
	if code := run(context.Background(), args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("keyfill %s: %s", strings.Join(args, " "), &errOut)
	}
	var all []plan.Step
	for d := json.NewDecoder(&out); ; {
		var s plan.Step
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
}

// execute runs the statements of steps and their checks, and returns the policies.
func (p *planned) execute(t *testing.T, steps []plan.Step) (policies []string) {
	t.Helper()
	ctx := context.Background()
	for _, s := range steps {
		if s.Policy != "" {
			policies = append(policies, s.Policy)
		}
		conn, err := p.raw.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range s.SQL {
			for {
				_, err := conn.ExecContext(ctx, query)
				var waited *mysql.MySQLError
				if errors.As(err, &waited) && waited.Number == 1205 && s.Again != "" {
					continue
				}
				if err != nil {
					t.Fatalf("%s: %s: %v", s.Title, query, err)
				}
				break
			}
		}
		if s.Check != "" {
			if n, err := rowsOf(ctx, conn, s.Check); err != nil || n == 0 {
				t.Fatalf("%s: %s: %d rows: %v", s.Title, s.Check, n, err)
			}
		}
		conn.Close()
	}
	return policies
}

// rowsOf returns how many rows a query has.
func rowsOf(ctx context.Context, conn *sql.Conn, query string) (n int, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// insertLoad inserts rows until it is stopped, through databases that change on the way.
type insertLoad struct {
	mu     sync.Mutex
	failed []string
	count  map[string]int

	running []string      // kinds
	pause   time.Duration // after each INSERT
}

// more waits until each kind that runs has inserted some rows more.
func (l *insertLoad) more(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	want := map[string]int{}
	for _, kind := range l.running {
		want[kind] = l.count[kind] + 10
	}
	l.mu.Unlock()
	for kind, n := range want {
		for {
			l.mu.Lock()
			done, failed := l.count[kind] >= n, len(l.failed) > 0
			l.mu.Unlock()
			if failed {
				t.Fatalf("an INSERT failed: %s", l.failed[0])
			}
			if done {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// begin starts processes of a kind; the function that it returns stops them.
func (l *insertLoad) begin(t *testing.T, kind string, db *sql.DB) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	l.mu.Lock()
	l.running = append(l.running, kind)
	l.mu.Unlock()
	for range 2 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, err := db.Exec(fmt.Sprintf("INSERT INTO orders (who) VALUES ('%s')%s", kind, strings.Repeat(", ('"+kind+"')", n%3)))
				l.mu.Lock()
				if err != nil {
					l.failed = append(l.failed, kind+": "+err.Error())
				} else {
					l.count[kind] += 1 + n%3
				}
				l.mu.Unlock()
				time.Sleep(l.pause)
			}
		})
	}
	stop = func() {
		cancel()
		wg.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running = slices.DeleteFunc(l.running, func(other string) bool { return other == kind })
	}
	t.Cleanup(stop)
	return stop
}

// TestPlanThereAndBack: the steps of the plans, as they are printed, take a table there,
// back, and there again while processes of all kinds insert. No INSERT fails.
func TestPlanThereAndBack(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)", "INSERT INTO orders (who) VALUES ('before'), ('before')")
		load := &insertLoad{count: map[string]int{}}
		lasting := func() { t.Helper(); load.more(t) }
		old := load.begin(t, "old", p.open(t, ""))
		lasting()

		there := p.execute(t, p.steps(t, "there", "--table", "orders"))
		first := load.begin(t, "first", p.open(t, there[0]))
		second := load.begin(t, "second", p.open(t, there[0]))
		lasting()
		old()
		lasting()

		// Back: the processes with keyfill give way one by one.
		back := p.execute(t, p.steps(t, "handback", "--table", "orders"))
		first()
		first = load.begin(t, "below", p.open(t, back[0]))
		second()
		second = load.begin(t, "off", p.open(t, back[1]))
		lasting()
		first()
		first = load.begin(t, "plain", p.open(t, ""))
		lasting()

		again := p.execute(t, p.steps(t, "there", "--table", "orders"))
		third := load.begin(t, "again", p.open(t, again[0]))
		lasting()
		first()
		second()
		third()

		for i, text := range load.failed {
			if i < 5 {
				t.Errorf("an INSERT failed: %s", text)
			}
		}
		for _, kind := range []string{"old", "first", "second", "below", "off", "plain", "again"} {
			var n int
			if err := p.raw.QueryRow("SELECT COUNT(*) FROM orders WHERE who = '" + kind + "'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n != load.count[kind] || n == 0 {
				t.Errorf("%d rows of %s are stored, %d were inserted", n, kind, load.count[kind])
			}
		}
		t.Logf("%d failed, rows: %v", len(load.failed), load.count)
	})
}

// TestPlanHandbackOwned: the way back from a column that keyfill alone has filled.
func TestPlanHandbackOwned(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id "+serial[p.driver]+", who VARCHAR(20) NOT NULL)")
		load := &insertLoad{count: map[string]int{}}
		owner := load.begin(t, "owner", p.open(t, "orders: {column: id, source: {kind: sequence, ensure_schema: true, exclusive: true}}"))
		load.more(t)
		back := p.execute(t, p.steps(t, "handback", "--table", "orders"))
		other := load.begin(t, "below", p.open(t, back[0]))
		load.more(t)
		owner()
		plain := load.begin(t, "plain", p.open(t, back[1]))
		load.more(t)
		other()
		plain()
		if len(load.failed) > 0 {
			t.Errorf("%d INSERTs failed, the first: %s", len(load.failed), load.failed[0])
		}
		t.Logf("rows: %v", load.count)
	})
}

// TestPlanForeign: a column that another source numbers than a sequence of the database
// has no plan, since it is not known which keys its processes have in hand.
func TestPlanForeign(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		sources := map[string]string{
			"recycled":     "{kind: recycled, ensure_schema: true}",
			"pseudorandom": "{kind: pseudorandom, ensure_schema: true}",
			"maxplusone":   "{kind: maxplusone, ensure_schema: true}",
		}
		switch p.driver {
		case "mysql":
			sources["snowflake"] = "{kind: snowflake, worker: 1, ensure_schema: true}"
		case "pgx":
			p.exec(t, "CREATE SEQUENCE numbers")
			sources["native"] = "{kind: native, sequence: numbers}"
		}
		for name, source := range sources {
			p.exec(t, "CREATE TABLE "+name+" (id BIGINT NOT NULL PRIMARY KEY, who VARCHAR(20) NOT NULL)")
			bits := ""
			if name == "pseudorandom" {
				bits = "max_bits: 31, "
			}
			db := p.open(t, name+": {column: id, "+bits+"source: "+source+"}")
			if _, err := db.Exec("INSERT INTO " + name + " (who) VALUES ('keyfill')"); err != nil {
				t.Fatal(err)
			}
			for _, plan := range []string{"there", "handback", "change"} {
				if plan == "handback" && name == "native" {
					continue // see TestPlannedPolicies
				}
				t.Setenv("KEYFILL_TEST_DSN", p.dsn)
				r := keyfillRun(t, "", "plan", plan, "--table", name, "--column", "id", "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")
				if r.code != 1 || !strings.Contains(r.errOut, "which is not here") {
					t.Errorf("keyfill plan %s of a column numbered by %s: exit code %d, %s%s", plan, name, r.code, r.out, r.errOut)
				}
			}
		}
	})
}

// TestPlanOthers: the plans bigint and uuid, executed.
func TestPlanOthers(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		narrow := map[string]string{
			"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "pgx": "SERIAL PRIMARY KEY",
		}
		p.exec(t, "CREATE TABLE orders (id "+narrow[p.driver]+", who VARCHAR(20) NOT NULL)", "INSERT INTO orders (who) VALUES ('before'), ('before')")
		there := p.steps(t, "there", "--table", "orders")
		if text := there[len(there)-2].Policy; p.driver != "sqlite" && !strings.Contains(text, "max_bits: 31") {
			t.Errorf("the policy for a column of 31 bits: %s", text)
		}
		bigint := p.steps(t, "bigint", "--table", "orders")
		for _, s := range bigint {
			p.exec(t, s.SQL...)
		}
		p.exec(t, "INSERT INTO orders (id, who) VALUES (3000000000, 'wide')")
		uuid := p.steps(t, "uuid", "--table", "orders")
		p.exec(t, uuid[0].SQL...)
		db := p.open(t, uuid[1].Policy)
		if _, err := db.Exec("INSERT INTO orders (who) VALUES ('both')"); err != nil {
			t.Fatal(err)
		}
		var keys int
		if err := p.raw.QueryRow("SELECT COUNT(id_uuid) FROM orders WHERE who = 'both'").Scan(&keys); err != nil || keys != 1 {
			t.Errorf("%d rows of keyfill have both keys: %v", keys, err)
		}
	})
}

// TestPlanText: the form for people, and what is refused.
func TestPlanText(t *testing.T) {
	p := &planned{driver: "sqlite", dsn: "file:" + filepath.Join(t.TempDir(), "t.db")}
	p.raw = p.open(t, "")
	p.exec(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT)", "CREATE TABLE plain (id INTEGER PRIMARY KEY)",
		"CREATE TABLE texts (id TEXT)", "INSERT INTO orders (who) VALUES ('before')")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"there", "--table", "orders"}, 0, "2. Raise the engine's own counter to 1000000002.\n"},
		{[]string{"there", "--table", "orders", "--gap", "50000"}, 0, "start: 202, below: 50002"},
		{[]string{"there", "--table", "orders", "--gap", "5"}, 1, "no room for a gap"},
		{[]string{"there", "--table", "plain"}, 0, "Stop the programs that insert without keyfill"},
		{[]string{"there", "--table", "texts"}, 1, "name its key column in --column"},
		{[]string{"there", "--table", "texts", "--column", "id"}, 1, "keyfill plan uuid"},
		{[]string{"there", "--table", "missing"}, 1, "there is no such table"},
		{[]string{"handback", "--table", "orders"}, 1, "nothing to hand back"},
		{[]string{"change", "--table", "orders"}, 1, "nothing to hand back"},
		{[]string{"sideways", "--table", "orders"}, 2, "there is no plan"},
		{[]string{"there"}, 2, "say --table"},
	} {
		var out, errOut bytes.Buffer
		args := append([]string{"plan"}, append(c.args, "--driver", p.driver, "--dsn", p.dsn)...)
		code := run(context.Background(), args, strings.NewReader(""), &out, &errOut)
		if text := out.String() + errOut.String(); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("keyfill %s: exit code %d, want %d, and %q in\n%s", strings.Join(c.args, " "), code, c.code, c.want, text)
		}
	}
}

// TestPlanNumbers: the source of numbers with a format, a period or a scope has no plan, and the error names
// the page that shows how they begin.
func TestPlanNumbers(t *testing.T) {
	p := &planned{driver: "sqlite", dsn: "file:" + filepath.Join(t.TempDir(), "t.db")}
	p.raw = p.open(t, "")
	p.exec(t, "CREATE TABLE invoices (id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT NOT NULL UNIQUE, issued_on DATE)",
		"CREATE TABLE lines (orders INT NOT NULL, no INT NOT NULL, PRIMARY KEY (orders, no))", "CREATE TABLE receipts (number TEXT NOT NULL PRIMARY KEY, cents INT)")
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	policy := `version: 1
sources:
  receipts: {kind: sequence, format: "R{n:06}"}
tables:
  invoices: {column: number, source: {kind: sequence, transaction: joined, format: "INV-{year}-{n:05}", period: {every: year, column: issued_on}}}
  lines: {column: no, source: {kind: sequence, transaction: joined, scope: [{column: orders, type: integer}]}}
  receipts: {column: number, source: receipts}
`
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"there", "handback", "change"} {
		for _, column := range []string{"invoices.number", "lines.no", "receipts.number"} {
			table, name, _ := strings.Cut(column, ".")
			r := keyfillRun(t, "", "plan", kind, "--driver", p.driver, "--dsn", p.dsn, "--config", file, "--table", table, "--column", name)
			if want := "docs/numbers.md"; r.code != 1 || !strings.Contains(r.errOut, want) || r.out != "" {
				t.Errorf("keyfill plan %s of %s: exit code %d, %s%s; want 1 and %q", kind, column, r.code, r.out, r.errOut, want)
			}
		}
	}
	for _, args := range [][]string{
		{"there", "--table", "invoices"},                      // the key beside the number
		{"bigint", "--table", "lines", "--column", "no"},      // a wider column has the same numbers
		{"uuid", "--table", "receipts", "--column", "number"}, // the new column is beside the numbers
	} {
		r := keyfillRun(t, "", append([]string{"plan", "--driver", p.driver, "--dsn", p.dsn, "--config", file}, args...)...)
		if r.code != 0 {
			t.Errorf("keyfill plan %s: exit code %d, %s", strings.Join(args, " "), r.code, r.errOut)
		}
	}
}

// TestPlanArguments: without the name of a plan the error lists them.
func TestPlanArguments(t *testing.T) {
	for _, args := range [][]string{{"plan"}, {"plan", "there", "handback"}} {
		if r := keyfillRun(t, "", args...); r.code != 2 || !strings.Contains(r.errOut, "there, handback, change, bigint or uuid") {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.errOut)
		}
	}
}
