package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// replicaKind is a source of a table that is filled while a standby is promoted.
type replicaKind struct {
	name   string
	source policy.Source
	column string // the type of the key column
	scoped bool   // keys are unique in a parent
	unique bool   // the source refuses a column without a unique index

	// raise is the statement for a loss whose error names none: numbers by period have no
	// statement for all periods.
	raise string
}

// replicaKinds are the sources in the order of the table.
var replicaKinds = []replicaKind{
	{name: "uuidv7", source: policy.Source{Kind: policy.KindUUIDv7}, column: "CHAR(36)"},
	{name: "sequence", source: policy.Source{Kind: policy.KindSequence, Block: 20}, column: "BIGINT"},
	{name: "joined", source: policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined}, column: "BIGINT"},
	{name: "scope", source: policy.Source{Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}}, column: "BIGINT", scoped: true},
	{name: "numbers", source: policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Format: "INV-{year}-{n:06}",
		Period: policy.Period{Every: policy.PeriodYear}}, column: "VARCHAR(40)",
		raise: "UPDATE keyfill_sequences SET next_value = next_value + 10000 WHERE name LIKE 'numbers.id[%' AND next_value > 0"},
	{name: "maxplusone", source: policy.Source{Kind: policy.KindMaxPlusOne}, column: "BIGINT", unique: true},
	{name: "native", source: policy.Source{Kind: policy.KindNative, Sequence: "numbers_native", Block: replicaNative}, column: "BIGINT"},
	{name: "recycled", source: policy.Source{Kind: policy.KindRecycled, Block: 5, Series: 1000, Lease: time.Minute}, column: "BIGINT"},
	{name: "snowflake", source: policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute}, column: "BIGINT"},
}

// replicaNative is the block of the engine's sequence.
const replicaNative = 20

// keyColumns are the columns in which no two rows may be the same.
func (k *replicaKind) keyColumns() string {
	if k.scoped {
		return "parent, id"
	}
	return "id"
}

// replicaMode is a way to replicate, and to reach the server that answers.
type replicaMode struct {
	name, title string
	engine      harness.Engine
	replicates  func() *testdb.Replication
	synchronous bool // a COMMIT waits for the standby
}

// replicaModes are the ways in the order of the table.
var replicaModes = []replicaMode{
	{"postgres-sync", "PostgreSQL, synchronous", harness.PgxDefault, testdb.PostgreSQLReplication, true},
	{"postgres-async", "PostgreSQL, asynchronous", harness.PgxDefault, testdb.PostgreSQLReplication, false},
	{"mariadb-async", "MariaDB, asynchronous", harness.MySQLDefault, testdb.MariaDBReplication, false},
}

// forwarder hands connections on to the server that answers now.
type forwarder struct {
	listener net.Listener
	mu       sync.Mutex // guards what follows
	server   string
	open     map[net.Conn]bool
	wg       sync.WaitGroup
}

func newForwarder(t *testing.T, server string) *forwarder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{listener: l, server: server, open: map[net.Conn]bool{}}
	f.wg.Go(f.accept)
	t.Cleanup(func() {
		l.Close()
		f.moveTo("")
		f.wg.Wait()
	})
	return f
}

// moveTo breaks all connections, and hands later ones on to another server.
func (f *forwarder) moveTo(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server = server
	for c := range f.open {
		c.Close()
	}
}

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.serve(client) })
	}
}

func (f *forwarder) serve(client net.Conn) {
	defer client.Close()
	f.mu.Lock()
	to := f.server
	f.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	f.mu.Lock()
	f.open[client], f.open[server] = true, true
	moved := f.server != to
	f.mu.Unlock()
	if !moved {
		f.wg.Go(func() {
			_, _ = io.Copy(server, client)
			server.Close()
		})
		_, _ = io.Copy(client, server)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, client)
	delete(f.open, server)
}

// replicaWorld is a primary, its standby, and processes that reach the one that is the primary.
type replicaWorld struct {
	mode    replicaMode
	engine  harness.Engine
	primary *testdb.Server
	standby *testdb.Standby
	dsn     string // of the processes
	forward *forwarder
	kinds   []replicaKind

	database string
	numbers  *atomic.Int64 // of rows
}

// replicaDatabase is the name of the database on both servers.
const replicaDatabase = "shop"

func newReplicaWorld(t *testing.T, mode replicaMode, kinds []replicaKind) *replicaWorld {
	t.Helper()
	w := &replicaWorld{mode: mode, engine: mode.engine, kinds: kinds, database: replicaDatabase, numbers: new(atomic.Int64)}
	w.primary, w.standby = testdb.StartStandby(t, mode.engine.Driver, mode.replicates())
	admin := harness.Open(t, mode.engine.Driver, w.primary.DSN(""))
	harness.Exec(t, admin, "CREATE DATABASE "+replicaDatabase)
	if mode.synchronous {
		harness.Must(t, admin, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	}
	admin.Close()
	w.dsn = harness.WithParams(w.primary.DSN(replicaDatabase), w.engine.Params)
	if w.engine.IsPostgres() {
		w.dsn = harness.WithParams(strings.Replace(w.dsn, w.primary.Addr(), w.primary.Addr()+","+w.standby.Addr(), 1), "target_session_attrs=read-write")
	} else {
		w.forward = newForwarder(t, w.primary.Addr())
		w.dsn = strings.Replace(w.dsn, w.primary.Addr(), w.forward.listener.Addr().String(), 1)
	}
	w.create(t, w.raw(t, w.primary))
	return w
}

// create makes the tables that processes fill.
func (w *replicaWorld) create(t *testing.T, raw *sql.DB) {
	t.Helper()
	defer raw.Close()
	for _, k := range w.kinds {
		unique := ""
		if k.unique {
			unique = "UNIQUE "
		}
		harness.Must(t, raw,
			"CREATE TABLE "+k.name+" (n BIGINT NOT NULL PRIMARY KEY, parent BIGINT NOT NULL, id "+k.column+" NOT NULL)",
			fmt.Sprintf("CREATE %sINDEX %s_key ON %[2]s (%s)", unique, k.name, k.keyColumns()))
		if k.source.Sequence != "" {
			harness.Exec(t, raw, fmt.Sprintf("CREATE SEQUENCE %s INCREMENT BY %d", k.source.Sequence, replicaNative))
		}
	}
}

// raw opens a server without keyfill.
func (w *replicaWorld) raw(t *testing.T, s *testdb.Server) *sql.DB {
	t.Helper()
	return harness.Open(t, w.engine.Driver, harness.WithParams(s.DSN(w.database), w.engine.Params))
}

// move lets the standby be the primary after the old one was killed.
func (w *replicaWorld) move(t *testing.T) {
	t.Helper()
	w.standby.Promote(t)
	if w.forward != nil {
		w.forward.moveTo(w.standby.Addr())
	}
}

// policy is the policy of all processes.
func (w *replicaWorld) policy() *policy.Config {
	cfg := &policy.Config{Dialect: w.engine.Dialect.Name, StoreWait: jobPatience, Tables: map[string]policy.Table{}}
	for _, k := range w.kinds {
		source := k.source
		source.EnsureSchema = source.Kind != policy.KindUUIDv7 && source.Kind != policy.KindNative && source.Kind != policy.KindMaxPlusOne
		cfg.Tables[k.name] = policy.Table{Column: "id", InPlace: &source}
	}
	return cfg
}

// replicaRow is a row whose COMMIT was answered.
type replicaRow struct {
	number int64
	key    string
}

// replicaWriter fills one table from one process, a row in each transaction.
type replicaWriter struct {
	world  *replicaWorld
	kind   *replicaKind
	db     *sql.DB
	insert string
	stop   chan struct{}

	mu     sync.Mutex // guards what follows
	rows   []replicaRow
	errors map[string]int // by class
	told   error          // the last error of keyfill that tells of the loss; nil after a row
	moved  int            // rows before the promotion
	first  time.Time      // of the first row after the promotion
}

// process opens a process with a writer for each table.
func (w *replicaWorld) process(t *testing.T, wg *sync.WaitGroup) []*replicaWriter {
	t.Helper()
	all := w.open(t)
	for _, one := range all {
		wg.Go(one.run)
	}
	return all
}

// open opens a process, whose writers do nothing yet.
func (w *replicaWorld) open(t *testing.T) (all []*replicaWriter) {
	t.Helper()
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, w.engine.Driver, w.dsn), keyfill.Options{Policy: w.policy(), Logger: slog.New(slog.DiscardHandler)})
	for i := range w.kinds {
		all = append(all, &replicaWriter{world: w, kind: &w.kinds[i], db: db, stop: make(chan struct{}), errors: map[string]int{},
			insert: w.engine.Placeholders("INSERT INTO " + w.kinds[i].name + " (n, parent) VALUES (?, ?)")})
	}
	return all
}

// state returns how many rows are stored, and the last error that tells of a loss and was not
// returned yet, nil if a row was stored after it.
func (r *replicaWriter) state() (rows int, told error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told, r.told = r.told, nil
	return len(r.rows), told
}

// moves notes that the rows so far were stored before the promotion.
func (r *replicaWriter) moves() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = len(r.rows)
}

func (r *replicaWriter) run() {
	for i := 0; ; i++ {
		select {
		case <-r.stop:
			return
		default:
		}
		row, err := r.one(i%2 == 0)
		r.mu.Lock()
		if err == nil {
			r.told = nil
			if r.moved >= 0 && len(r.rows) == r.moved {
				r.first = time.Now()
			}
			r.rows = append(r.rows, row)
		} else {
			class := replicaClass(err)
			r.errors[class]++
			if class == replicaTold {
				r.told = err
			}
		}
		r.mu.Unlock()
		if err != nil {
			time.Sleep(jobPause)
		}
	}
}

// one stores a row.
func (r *replicaWriter) one(alone bool) (replicaRow, error) {
	row := replicaRow{number: r.world.numbers.Add(1)}
	parent := row.number % 3
	ctx, cancel := context.WithTimeout(context.Background(), lossInsertTime)
	defer cancel()
	ctx, rec := keyfill.Record(ctx)
	var err error
	if alone {
		_, err = r.db.ExecContext(ctx, r.insert, row.number, parent)
	} else {
		err = harness.InTx(r.db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, r.insert, row.number, parent)
			return err
		})
	}
	if err != nil {
		return row, err
	}
	keys := rec.All()
	if len(keys) == 0 {
		return row, errors.New("no key is recorded")
	}
	row.key = fmt.Sprint(keys[len(keys)-1].Key)
	if r.kind.scoped {
		row.key = fmt.Sprintf("%d/%s", parent, row.key)
	}
	return row, nil
}

// replicaRemedy finds the statement that an error tells to run.
var replicaRemedy = regexp.MustCompile(`run ((?:UPDATE|INSERT|DELETE|SELECT) .*?)(?: \[docs|$)`)

// remedy does what an error tells an operator to do, and returns how many statements that was.
func (k *replicaKind) remedy(t *testing.T, raw *sql.DB, told error) int {
	t.Helper()
	statement := k.raise
	if found := replicaRemedy.FindStringSubmatch(told.Error()); found != nil {
		statement = found[1]
	}
	if statement == "" {
		return 0
	}
	if rows, err := raw.Query(statement); err != nil {
		t.Fatalf("%s: %v: %v", k.name, told, err)
	} else if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return 1
}

// The classes of errors.
const (
	replicaTold     = "told"      // keyfill says that the store has gone back
	replicaIndex    = "index"     // a unique index refused a key
	replicaConflict = "conflict"  // the engine undid the transaction in favour of another one
	replicaNoServer = "no server" // the connection broke, or no primary answered
)

// replicaBroken are parts of the errors of connections that broke, and of servers that are
// no primary.
var replicaBroken = []string{"bad connection", "invalid connection", "connect", "EOF", "reset", "closed", "57P", "broken pipe", "25006", "starting up", "deadline"}

// replicaClass returns the class of an error, or the error.
func replicaClass(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, keysource.ErrStoreBack), errors.Is(err, keysource.ErrStoreBehind):
		return replicaTold
	case strings.Contains(text, "23505"), strings.Contains(text, "1062"):
		return replicaIndex
	case isDeadlock(text), harness.IsSerialization(err):
		return replicaConflict
	case errors.Is(err, keysource.ErrStoreDown), slices.ContainsFunc(replicaBroken, func(part string) bool { return strings.Contains(text, part) }):
		return replicaNoServer
	}
	return text
}

// replicaOutcome is what is counted of a source after a promotion.
type replicaOutcome struct {
	mode         replicaMode
	kind         string
	acknowledged int // rows before and after the promotion
	lost         int // rows that were acknowledged, and are not stored
	again        int // keys that were acknowledged for two rows
	twice        int // keys that are stored in two rows
	errors       map[string]int
	remedies     int           // statements that an operator had to run
	first        time.Duration // from the kill until each process that ran on has stored a row
}

// count compares what processes were told of with what the new primary has.
func (w *replicaWorld) count(t *testing.T, kind *replicaKind, writers []*replicaWriter, killed time.Time) replicaOutcome {
	t.Helper()
	o := replicaOutcome{mode: w.mode, kind: kind.name, errors: map[string]int{}}
	given := map[string]int{}
	var numbers []int64
	for _, r := range writers {
		for _, row := range r.rows {
			given[row.key]++
			numbers = append(numbers, row.number)
		}
		for class, n := range r.errors {
			o.errors[class] += n
		}
		if r.moved >= 0 && r.first.Sub(killed) > o.first {
			o.first = r.first.Sub(killed)
		}
	}
	for _, n := range given {
		if n > 1 {
			o.again++
		}
	}
	raw := w.raw(t, w.standby.Server)
	stored := map[int64]bool{}
	for _, n := range harness.IntegersOf(t, raw, "SELECT n FROM "+kind.name) {
		stored[n] = true
	}
	o.acknowledged = len(numbers)
	o.lost = len(slices.DeleteFunc(numbers, func(n int64) bool { return stored[n] }))
	o.twice = harness.Count(t, raw, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 AS one FROM %s GROUP BY %s HAVING COUNT(*) > 1) k", kind.name, kind.keyColumns()))
	return o
}
