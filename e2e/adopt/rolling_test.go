package adopt_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// gap is how far the counter of a BIGINT column is raised.
const gap = 1_000_000_000

// rollingTime is for how long old and new processes insert at once, by
// KEYFILL_SOAK_ROLLING.
func rollingTime(t *testing.T) time.Duration {
	t.Helper()
	if !harness.Soaking() {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(os.Getenv("KEYFILL_SOAK_ROLLING"))
	if err != nil {
		t.Fatalf("KEYFILL_SOAK_ROLLING: %v", err)
	}
	return d
}

// tally holds what writers were told.
type tally struct {
	postgres bool

	mu     sync.Mutex
	rows   map[int64]string // by the id, what its row has to hold
	failed []string
	counts map[string]int // INSERTs that succeeded, by the writer's kind
}

func newTally(postgres bool) *tally {
	return &tally{postgres: postgres, rows: map[int64]string{}, counts: map[string]int{}}
}

// note keeps the outcome of an INSERT.
func (y *tally) note(kind string, ids []int64, texts []any, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if err != nil {
		y.failed = append(y.failed, kind+": "+err.Error())
		return
	}
	y.counts[kind]++
	for i, id := range ids {
		if other, found := y.rows[id]; found {
			y.failed = append(y.failed, fmt.Sprintf("the id %d was given to %s and to %v", id, other, texts[i]))
		}
		y.rows[id] = texts[i].(string)
	}
}

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// insert inserts rows of texts in one statement, and returns their ids as a program
// reads them: on PostgreSQL by RETURNING, elsewhere as first + i times the step of the
// counter.
func (y *tally) insert(db execer, texts []any, step int64) (ids []int64, err error) {
	ctx := context.Background()
	var values []string
	for i := range texts {
		if y.postgres {
			values = append(values, fmt.Sprintf("($%d)", i+1))
		} else {
			values = append(values, "(?)")
		}
	}
	query := "INSERT INTO t (who) VALUES " + strings.Join(values, ", ")
	if !y.postgres {
		res, err := db.ExecContext(ctx, query, texts...)
		if err != nil {
			return nil, err
		}
		first, err := res.LastInsertId()
		for i := range texts {
			ids = append(ids, first+int64(i)*step)
		}
		return ids, err
	}
	rows, err := db.QueryContext(ctx, query+" RETURNING id", texts...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// write inserts until the context ends: one row, three rows, or some of both in a
// transaction.
func (y *tally) write(ctx context.Context, kind string, db *sql.DB, step int64) {
	for n := 0; ctx.Err() == nil; n++ {
		var texts []any
		for i := range 1 + 2*(n%2) {
			texts = append(texts, fmt.Sprintf("%s %d %d %d", kind, rand.Int64(), n, i))
		}
		if n%7 != 0 {
			ids, err := y.insert(db, texts, step)
			y.note(kind, ids, texts, err)
			continue
		}
		ids, err := y.insertInTx(db, texts, step)
		y.note(kind, ids, texts, err)
	}
}

func (y *tally) insertInTx(db *sql.DB, texts []any, step int64) (ids []int64, err error) {
	err = harness.InTx(db, func(tx *sql.Tx) error {
		ids, err = y.insert(tx, texts, step)
		return err
	})
	return ids, err
}

// check compares the table with what the writers were told.
func (y *tally) check(t *testing.T, raw *sql.DB, kinds ...string) {
	t.Helper()
	if n := len(y.failed); n > 0 {
		t.Errorf("%d failures, the first: %s", n, strings.Join(y.failed[:min(n, 5)], "\n"))
	}
	for _, kind := range kinds {
		if y.counts[kind] < 10 {
			t.Errorf("%d INSERTs of %s, want at least 10", y.counts[kind], kind)
		}
	}
	rows, err := raw.Query("SELECT id, who FROM t WHERE who <> 'before'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id int64
		var who string
		if err := rows.Scan(&id, &who); err != nil {
			t.Fatal(err)
		}
		if n++; y.rows[id] != who {
			t.Errorf("the row with the id %d holds %q, and its writer was told %q", id, who, y.rows[id])
			return
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if n != len(y.rows) {
		t.Errorf("%d rows are stored, %d were told", n, len(y.rows))
	}
	t.Logf("INSERTs without a failure: %v, rows: %d", y.counts, n)
}

// createUsed makes a table that the engine numbers, with rows.
func createUsed(t *testing.T, raw *sql.DB, id string) {
	t.Helper()
	harness.Exec(t, raw, "CREATE TABLE t (id "+id+" PRIMARY KEY, who VARCHAR(100) NOT NULL)")
	for range 100 {
		harness.Exec(t, raw, "INSERT INTO t (who) VALUES ('before')")
	}
}

// processes run f in some goroutines until the returned function is called.
func processes(n int, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { f(ctx) })
	}
	return func() { cancel(); wg.Wait() }
}

// lockWait is MariaDB's and MySQL's error of a lock that was waited for too long.
const lockWait = 1205

// raiseMariaDB raises AUTO_INCREMENT by the gap, and returns where it then stands. Of an
// open transaction in the way it says how often that made it try again.
func raiseMariaDB(t *testing.T, raw *sql.DB) (to int64, again int) {
	t.Helper()
	conn := harness.ConnOf(t, raw)
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "SET lock_wait_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	for ; ; again++ {
		to = nextMariaDB(t, raw) + gap
		_, err := conn.ExecContext(ctx, fmt.Sprintf("ALTER TABLE t AUTO_INCREMENT = %d", to))
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && refused.Number == lockWait {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if next := nextMariaDB(t, raw); next < to {
			t.Fatalf("the counter stands at %d, want at least %d", next, to)
		}
		return to, again
	}
}

// nextMariaDB returns where the counter stands.
func nextMariaDB(t *testing.T, raw *sql.DB) int64 {
	t.Helper()
	var name, text string
	if err := raw.QueryRow("SHOW CREATE TABLE t").Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, " AUTO_INCREMENT=")
	var next int64
	if _, err := fmt.Sscan(rest, &next); err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRollingMariaDB: the counter is raised under the load of old processes, behind a
// long transaction, and then new processes insert beside them.
func TestRollingMariaDB(t *testing.T) {
	s := harness.MySQLDefault.Scratch(t)
	createUsed(t, s.Raw, "BIGINT AUTO_INCREMENT")
	y := newTally(false)
	old := plain(t, s)
	stopOld := processes(4, func(ctx context.Context) { y.write(ctx, "old", old, 1) })
	long, err := old.Begin()
	if err != nil {
		t.Fatal(err)
	}
	texts := []any{"long 1", "long 2", "long 3"}
	ids, err := y.insert(long, texts, 1)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	time.AfterFunc(1500*time.Millisecond, func() {
		defer close(ended)
		y.note("long", ids, texts, long.Commit())
	})
	below, again := raiseMariaDB(t, s.Raw)
	<-ended
	t.Logf("the ALTER TABLE was tried again %d times behind the open transaction", again)
	var stops []func()
	for range 3 {
		db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Below: below}))
		stops = append(stops, processes(2, func(ctx context.Context) { y.write(ctx, "new", db, 1) }))
	}
	time.Sleep(rollingTime(t))
	for _, stop := range append(stops, stopOld) {
		stop()
	}
	y.check(t, s.Raw, "old", "new")
	if n := harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE who LIKE 'new %%' AND id >= %d", below)); n != 0 {
		t.Errorf("%d ids of new processes are from %d on", n, below)
	}
}

// TestRollingPostgreSQL: beside a serial whose sessions hold numbers in advance, and by
// native.
func TestRollingPostgreSQL(t *testing.T) {
	const cache, sessions = 20, 10
	for _, way := range []string{"setval", "native"} {
		t.Run(way, func(t *testing.T) {
			s := harness.PgxDefault.Scratch(t)
			createUsed(t, s.Raw, "BIGSERIAL")
			y := newTally(true)
			old := plain(t, s)
			old.SetMaxOpenConns(sessions)
			old.SetMaxIdleConns(sessions)
			src := policy.Source{Kind: policy.KindNative}
			if way == "setval" {
				harness.Exec(t, s.Raw, fmt.Sprintf("ALTER SEQUENCE t_id_seq CACHE %d", cache))
			}
			stopOld := processes(4, func(ctx context.Context) { y.write(ctx, "old", old, 1) })
			if way == "setval" {
				var to int64
				if err := s.Raw.QueryRow(fmt.Sprintf("SELECT setval('t_id_seq', nextval('t_id_seq') + %d)", gap)).Scan(&to); err != nil {
					t.Fatal(err)
				}
				src = policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Below: to, Start: to - gap + cache*sessions + 1}
			}
			var stops []func()
			for range 3 {
				db, _ := s.Open(t, harness.InPlace(src))
				stops = append(stops, processes(2, func(ctx context.Context) { y.write(ctx, "new", db, 1) }))
			}
			time.Sleep(rollingTime(t))
			for _, stop := range append(stops, stopOld) {
				stop()
			}
			y.check(t, s.Raw, "old", "new")
		})
	}
}

// TestRollingGalera: old and new processes at two nodes of a cluster. What the old ones
// insert is one statement each: the ALTER TABLE ends transactions at other nodes.
func TestRollingGalera(t *testing.T) {
	nodes := cluster.Nodes(t)
	name := nodes[0].Database(t, "mysql")
	raw := harness.Open(t, "mysql", nodes[0].DSN(name)+"?wsrep_sync_wait=15")
	createUsed(t, raw, "BIGINT AUTO_INCREMENT")
	below, _ := raiseMariaDB(t, raw)
	y := newTally(false)
	var stops []func()
	for _, node := range nodes {
		old := harness.Open(t, "mysql", node.DSN(name))
		step := harness.CountInt(t, old, "SELECT @@auto_increment_increment")
		stops = append(stops, processes(2, func(ctx context.Context) { y.write(ctx, "old", old, step) }))
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, "mysql", node.DSN(name)),
			harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Below: below}))
		stops = append(stops, processes(2, func(ctx context.Context) { y.write(ctx, "new", db, 1) }))
	}
	time.Sleep(rollingTime(t))
	for _, stop := range stops {
		stop()
	}
	y.check(t, raw, "old", "new")
}

// TestRaisedLost: a counter that was raised on a server which writes its log once a
// second may be back where it was after kill -9. Whoever reads it back knows, and a
// sequence refuses to fill the column.
func TestRaisedLost(t *testing.T) {
	server := testdb.Start(t, testdb.MariaDB().With("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-timeout=2700"))
	e := harness.MySQLDefault
	e.Server = server
	s := e.Scratch(t)
	createUsed(t, s.Raw, "BIGINT AUTO_INCREMENT")
	harness.Exec(t, s.Raw, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	harness.Exec(t, s.Raw, "INSERT INTO t (who) VALUES ('before')") // what was done so far is on the disk
	harness.Exec(t, s.Raw, "SET GLOBAL innodb_flush_log_at_trx_commit = 0")
	below, _ := raiseMariaDB(t, s.Raw)
	server.Kill(t)
	server.Restart(t)
	var next int64
	harness.Eventually(t, func() error { return s.Raw.Ping() })
	if next = nextMariaDB(t, s.Raw); next >= below {
		t.Logf("the server has kept the raised counter: %d", next)
		return
	}
	db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Below: below}))
	if _, err := db.Exec("INSERT INTO t (who) VALUES ('new')"); err == nil {
		t.Errorf("a key beside a counter that stands at %d, below %d", next, below)
	}
	to, _ := raiseMariaDB(t, s.Raw)
	db, _ = s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Below: to}))
	harness.Exec(t, db, "INSERT INTO t (who) VALUES ('new')")
}

// plain returns another pool of the raw driver, as an old process has one.
func plain(t *testing.T, s *harness.Scratch) *sql.DB {
	t.Helper()
	db := sql.OpenDB(s.Connector)
	t.Cleanup(func() { db.Close() })
	return db
}
