package stores_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

const operated = `version: 1
dialect: sqlite
store_wait: 1s
stores:
  central: {driver: pgx, dsn: %q}
tables:
  orders:    {column: id, source: {kind: sequence, store: central, block: 5, start: 1, create: true, ensure_schema: true, on_behind: advance}}
  visits:    {column: id, source: {kind: recycled, block: 2, series: 1000, lease: 5s, create: true, ensure_schema: true}}
  tickets:   {column: id, max_bits: 31, source: {kind: sequence, start: 2147000000, block: 100, create: true, ensure_schema: true}}
  customers: {column: id, source: uuidv7}
  custmers:  {column: id, source: uuidv7}
`

// trouble is something that goes wrong, and where it has to be seen.
type trouble struct {
	name          string
	cause         func()
	log           string // the message
	alert, value  string // the alert, and the value of one of its labels
	subject, text string // on the page
}

// TestOperator: a store that is stopped, a lease that is stolen, an entry with a typo and a
// source near its end are each in the log, on the page, and in an alert that fires in a real
// Prometheus, which was silent while all was well. What is mended is quiet again. Then each
// expression of the dashboard has an answer.
func TestOperator(t *testing.T) {
	t.Parallel()
	central := harness.PgxDefault
	central.Server = testdb.Start(t, testdb.PostgreSQL())
	s := harness.SQLiteFile.Scratch(t)
	for _, table := range []string{"orders", "visits", "tickets"} {
		harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	}
	harness.Exec(t, s.Raw, "CREATE TABLE customers (id TEXT NOT NULL PRIMARY KEY, a INT)")
	cfg, err := policy.Parse(fmt.Appendf(nil, operated, central.DSN(t)))
	if err != nil {
		t.Fatal(err)
	}
	log := new(lines)
	db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
	w := watch(t, m)

	p := &program{db: db, tables: []string{"orders", "visits", "customers"}}
	stop := p.start()
	defer stop()
	awaitSeen(t, "a program that works", func() bool {
		up := w.query(t, `count(keyfill_statements_total{outcome="stored"} > 0)`)
		return len(up) == 1 && up[0] >= 3
	})
	if alerts, found := w.alerts(t), w.report(t).Attention; (len(alerts) > 0 || len(found) > 0) && isWell(m) {
		t.Errorf("while all is well there are the alerts %v and the findings %+v", alerts, found)
	}

	for _, c := range []trouble{
		{"a stopped store", func() { central.Server.Stop(t) },
			"store down", "KeyfillStoreFailing", "orders.id", "source orders.id", "last fetch failed"},
		{"INSERTs without a key", func() {},
			"an INSERT waited for its block", "KeyfillNoKey", "orders", "table orders", "got no key: store"},
		{"a stolen lease", func() {
			harness.Exec(t, s.Raw, "UPDATE keyfill_series SET owner = 'thief', epoch = epoch + 1, leased_until = '2999-01-01'")
		}, "lease lost", "KeyfillLeaseLost", "visits.id", "source visits.id", "Another process had taken the lease"},
		{"an entry with a typo", func() { p.many(t, "customers", 1000) },
			"no INSERT has matched an entry of the policy", "KeyfillNothingMatched", "custmers", "entry custmers", "for this entry"},
		{"a source near its end", func() { p.add("tickets") },
			"most keys of a source are used", "KeyfillNearlyExhausted", "tickets.id", "source tickets.id", "will be exhausted"},
		{"a statement that cannot be filled", func() { harness.MustFail(t, db, "INSERT INTO customers (a) SELECT a, a FROM customers") },
			"INSERT refused", "KeyfillRefused", "customers", "table customers", "could not be filled: column_count"},
	} {
		began := time.Now()
		c.cause()
		awaitSeen(t, c.name+" in the log", func() bool { return len(log.of(c.log)) > 0 })
		inLog := time.Since(began)
		awaitSeen(t, c.name+" on the page", func() bool { return w.finds(t, c.subject, c.text) })
		onPage := time.Since(began)
		awaitSeen(t, c.name+" in an alert", func() bool { return w.fires(t, c.alert, c.value) })
		t.Logf("%s: in the log after %.1f s, on the page after %.1f s, the alert %s fires after %.1f s",
			c.name, inLog.Seconds(), onPage.Seconds(), c.alert, time.Since(began).Seconds())
	}

	central.Server.Restart(t)
	awaitSeen(t, "a store that is back, in the log", func() bool { return len(log.of("store back")) > 0 })
	awaitSeen(t, "a store that is back, in the alerts", func() bool { return !w.fires(t, "KeyfillStoreFailing", "orders.id") })
	awaitSeen(t, "a store that is back, on the page", func() bool { return !w.finds(t, "source orders.id", "last fetch failed") })
	w.answersDashboard(t)
	if t.Failed() {
		t.Log(log.texts())
	}
}

// isWell reports whether all INSERTs got a key so far, and the stores have answered. On a
// machine that does much else they may not have in time, which is no trouble of the test.
func isWell(m *keyfill.Mount) bool {
	for _, s := range m.Stats().Tables {
		if !s.NoKeyAt.IsZero() {
			return false
		}
	}
	for _, s := range m.Sources() {
		if s.FetchErrors > 0 || s.LeasesLost > 0 {
			return false
		}
	}
	return true
}

// program inserts into its tables, in turns, until it is stopped.
type program struct {
	db     *sql.DB
	mu     sync.Mutex
	tables []string
}

// add makes it insert into one more table.
func (p *program) add(table string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tables = append(p.tables, table)
}

// now returns the tables.
func (p *program) now() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.tables...)
}

// start starts the program. The result ends it, and waits for that.
func (p *program) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			for _, table := range p.now() {
				_, _ = p.db.ExecContext(ctx, "INSERT INTO "+table+" (a) VALUES (1)") // the troubles let some fail
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// many inserts rows into a table in one transaction.
func (p *program) many(t *testing.T, table string, rows int) {
	t.Helper()
	tx, err := p.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for range rows {
		if _, err := tx.Exec("INSERT INTO " + table + " (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
