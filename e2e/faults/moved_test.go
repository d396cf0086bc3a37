package faults_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// twoServers are two servers of an engine with the same tables. Processes that are opened
// through them reach the one that answers now.
type twoServers struct {
	at  [2]*harness.Scratch
	now atomic.Int32
}

// movedTables are the tables that a copy of a database has.
var movedTables = append([]string{"t"}, lossTables...)

// movedEngines are the engines of two servers, and how to start one.
var movedEngines = []struct {
	harness.Engine

	start func() *testdb.Engine
	sign  string // lets the server say that it and another one replicate to each other
}{
	{harness.PgxDefault, testdb.PostgreSQL, ""},
	{harness.MySQLDefault, testdb.MariaDB, "SET GLOBAL auto_increment_increment = 2"},
}

// empty makes the tables anew, on both.
func (s *twoServers) empty(t *testing.T) {
	t.Helper()
	for _, one := range s.at {
		for _, table := range movedTables {
			harness.Exec(t, one.Raw, "DROP TABLE IF EXISTS "+table)
		}
		harness.Must(t, one.Raw, append(store.DDL(one.Dialect), "CREATE TABLE t (n BIGINT, parent BIGINT NOT NULL, id BIGINT NOT NULL)", "CREATE INDEX t_id ON t (parent, id)", "CREATE INDEX t_only ON t (id)")...)
	}
	s.now.Store(0)
}

// Connect implements driver.Connector.
func (s *twoServers) Connect(ctx context.Context) (driver.Conn, error) {
	if now := s.now.Load(); now >= 0 {
		return s.at[now].Connector.Connect(ctx)
	}
	return nil, errNoServer
}

var errNoServer = errors.New("no server answers")

// Driver implements driver.Connector.
func (s *twoServers) Driver() driver.Driver { return s.at[0].Connector.Driver() }

// copyTo copies all rows of the other server to one of them.
func (s *twoServers) copyTo(t *testing.T, to int) {
	t.Helper()
	from, into := s.at[1-to], s.at[to]
	for _, table := range movedTables {
		harness.Exec(t, into.Raw, "DELETE FROM "+table)
		rows, err := from.Raw.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		insert := into.Placeholders("INSERT INTO " + table + " VALUES (" + strings.Repeat("?, ", len(columns)-1) + "?)")
		for rows.Next() {
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			if err := rows.Scan(places...); err != nil {
				t.Fatal(err)
			}
			if _, err := into.Raw.Exec(insert, values...); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// moveTo lets a server answer from now on, which has all rows of the other one if copied is
// true. All connections to the other one break before that.
func (s *twoServers) moveTo(t *testing.T, to int, copied bool) {
	t.Helper()
	s.now.Store(-1)
	old := s.at[1-to]
	kill := "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	if old.IsPostgres() {
		kill = "SELECT 'SELECT pg_terminate_backend(' || pid || ', 60000)' FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	}
	old.Raw.SetMaxOpenConns(1)
	harness.Eventually(t, func() error {
		queries := harness.KeysOf(t, old.Raw, t.Context(), kill)
		for _, query := range queries {
			_, _ = old.Raw.Exec(query) // it may have ended
		}
		if len(queries) > 0 {
			return fmt.Errorf("%d connections are open", len(queries))
		}
		return nil
	})
	if copied {
		s.copyTo(t, to)
	}
	s.now.Store(int32(to))
}

// movedProcess is a process that inserts rows, each after the last error was read.
type movedProcess struct {
	db   *sql.DB
	at   *harness.Scratch
	rows int
	log  *strings.Builder
}

func openMoved(t *testing.T, c driver.Connector, at *harness.Scratch, source policy.Source) *movedProcess {
	t.Helper()
	source.EnsureSchema = true
	cfg := harness.FillID("t", policy.Table{InPlace: &source})
	cfg.Dialect, cfg.StoreWait = at.Dialect.Name, jobPatience
	p := &movedProcess{at: at, log: new(strings.Builder)}
	p.db, _ = harness.OpenConnector(t, c, keyfill.Options{Policy: cfg, Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	return p
}

// insert inserts rows, and returns the first error that is not about a connection: the
// application's business, which tries again.
func (p *movedProcess) insert(t *testing.T, rows int) (failed error) {
	t.Helper()
	for range rows {
		p.rows++
		harness.Eventually(t, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), lossInsertTime)
			defer cancel()
			_, err := p.db.ExecContext(ctx, p.at.Placeholders("INSERT INTO t (n, parent) VALUES (?, ?)"), p.rows, p.rows%2)
			if err != nil && (!strings.HasPrefix(err.Error(), "keyfill: ") || errors.Is(err, keysource.ErrStoreDown)) {
				return err
			}
			failed = err
			return nil
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// movedKinds are the sources of the processes.
var movedKinds = []struct {
	name   string
	source policy.Source
	scoped bool
}{
	{"sequence", policy.Source{Kind: policy.KindSequence, Block: 5}, false},
	{"one by one", policy.Source{Kind: policy.KindSequence, Block: 1}, false},
	{"joined", policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined}, false},
	{"scope", policy.Source{Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}}, true},
	{"recycled", policy.Source{Kind: policy.KindRecycled, Block: 5, Series: 1000, Lease: time.Minute}, false},
	{"snowflake", policy.Source{Kind: policy.KindSnowflake, Worker: new(7)}, false},
	{"leased", policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute}, false},
}

// remedyIn finds the statement or the command that an error tells to run.
var remedyIn = regexp.MustCompile(`run ((?:UPDATE|INSERT|DELETE|keyfill) .*?)(?: \[docs|$)`)

// TestMoved: processes go on where another server answers, with all that was committed or
// from an older backup, or are told in one error which command makes them go on.
func TestMoved(t *testing.T) {
	t.Parallel()
	for _, e := range movedEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, e.Engine, e.start)
			for i, k := range movedKinds {
				if !testturn.Of(t, i, 3) {
					continue
				}
				open := func(t *testing.T, c driver.Connector) *movedProcess { return openMoved(t, c, s.at[0], k.source) }
				must := func(t *testing.T, p *movedProcess, rows int) {
					t.Helper()
					if err := p.insert(t, rows); err != nil {
						t.Fatal(err)
					}
				}
				unique := func(t *testing.T, at int) {
					t.Helper()
					columns := "CAST(id AS CHAR(30))"
					if k.scoped {
						columns = "CAST(parent * 1000000 + id AS CHAR(30))"
					}
					keys := harness.KeysOf(t, s.at[at].Raw, t.Context(), "SELECT "+columns+" FROM t")
					slices.Sort(keys)
					if some := slices.Compact(slices.Clone(keys)); len(some) != len(keys) {
						t.Errorf("%d keys, of which %d are different: %s", len(keys), len(some), keys)
					}
				}
				for _, c := range []struct {
					name string
					run  func(t *testing.T)
				}{
					{"failover and back", func(t *testing.T) { // twice, and a process is idle meanwhile
						idle, busy := open(t, s), open(t, s)
						must(t, idle, 7)
						must(t, busy, 7)
						for range 2 {
							s.moveTo(t, 1, true)
							must(t, busy, 17)
							s.moveTo(t, 0, true)
							must(t, busy, 7)
							must(t, idle, 17)
						}
						unique(t, 0)
					}},
					{"recreated", func(t *testing.T) { // with another name, and all rows
						p := open(t, s)
						must(t, p, 7)
						s.moveTo(t, 1, true)
						must(t, p, 17)
						must(t, open(t, s), 7)
						unique(t, 1)
					}},
					{"clone", func(t *testing.T) { // which is used beside the original
						p := open(t, s.at[0].Connector)
						must(t, p, 7)
						s.copyTo(t, 1)
						clone := open(t, s.at[1].Connector)
						for range 3 {
							must(t, clone, 7)
							must(t, p, 7)
						}
						unique(t, 0)
						unique(t, 1)
					}},
					{"backup", func(t *testing.T) { // which is older than what a process has stored
						p := open(t, s)
						must(t, p, 7)
						s.copyTo(t, 1)
						must(t, p, 20)
						s.moveTo(t, 1, false)
						err := p.insert(t, 17)
						for told := 0; err != nil; told++ {
							remedy := remedyIn.FindStringSubmatch(err.Error())
							if remedy == nil || told == 2 {
								t.Fatalf("it does not say what to run, or says it again: %v", err)
							}
							t.Log(err)
							harness.Exec(t, s.at[1].Raw, remedy[1])
							harness.Eventually(t, func() error { return p.insert(t, 1) }) // a store is asked again after a second
							err = p.insert(t, 16)
						}
						must(t, open(t, s), 7)
						unique(t, 1)
					}},
				} {
					t.Run(k.name+"/"+c.name, func(t *testing.T) {
						s.empty(t)
						c.run(t)
					})
				}
			}
		})
	}
}

// startServers starts two servers with a database of one name.
func startServers(t *testing.T, e harness.Engine, start func() *testdb.Engine) *twoServers {
	t.Helper()
	const name = "moved"
	s := &twoServers{}
	for i := range s.at {
		one := e
		one.Server = testdb.Start(t, start())
		first := one.Scratch(t)
		harness.Exec(t, first.Raw, "CREATE DATABASE "+name)
		if i == 1 && first.IsPostgres() {
			promote(t, first) // the servers may have been copied from one folder, and have one name
		}
		dsn := harness.WithParams(one.Server.DSN(name), one.Params)
		s.at[i] = &harness.Scratch{Engine: one, Connector: harness.ConnectorOf(t, one.Driver, dsn), Raw: harness.Open(t, one.Driver, dsn)}
	}
	return s
}

// promote lets a server be one that was promoted.
func promote(t *testing.T, s *harness.Scratch) {
	t.Helper()
	s.Raw.SetMaxIdleConns(0) // none outlives the server
	folder := harness.Text(t, s.Raw, "SELECT current_setting('data_directory')")
	s.Server.Stop(t)
	if err := os.WriteFile(filepath.Join(folder, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Server.Restart(t)
	harness.Exec(t, s.Raw, "SELECT pg_promote()")
}

// TestTwoWriters: where two servers replicate to each other, and programs insert at both, an
// error says so when the row has come from the other one again, and which command makes the
// programs at one of them go on.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	for _, e := range movedEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, e.Engine, e.start)
			s.empty(t)
			for _, one := range s.at {
				replicate(t, one, e.sign)
			}
			source := policy.Source{Kind: policy.KindSequence, Block: 1}
			var p [2]*movedProcess
			for i := range p {
				p[i] = openMoved(t, s.at[i].Connector, s.at[i], source)
			}
			must := func(at int) {
				t.Helper()
				if err := p[at].insert(t, 3); err != nil {
					t.Fatal(err)
				}
			}
			must(0)
			for range 2 {
				s.copyTo(t, 1)
				must(1)
				s.copyTo(t, 0)
				if err := p[0].insert(t, 3); err != nil {
					if !errors.Is(err, store.ErrWriters) {
						t.Fatal(err)
					}
					break
				}
			}
			err := p[0].insert(t, 1)
			if !errors.Is(err, store.ErrWriters) || !strings.Contains(err.Error(), "keyfill takeover") {
				t.Fatalf("%v, want %v", err, store.ErrWriters)
			}
			if log := p[0].log.String(); strings.Count(log, "last written at another server") != 1 {
				t.Errorf("the log has %q", log)
			}
			if named, err := reserver.SignAll(t.Context(), harness.StoreOf(t, s.at[0])); named != 1 || err != nil {
				t.Errorf("%d rows were written, %v", named, err)
			}
			harness.Eventually(t, func() error { return p[0].insert(t, 1) }) // a store is asked again after a second
			must(0)
		})
	}
}

// replicate lets a server say that it and another one replicate to each other.
func replicate(t *testing.T, s *harness.Scratch, sign string) {
	t.Helper()
	if sign != "" {
		harness.Exec(t, s.Raw, sign)
		return
	}
	harness.Must(t, s.Raw,
		"CREATE PUBLICATION own FOR TABLE keyfill_sequences",
		"CREATE SUBSCRIPTION other CONNECTION 'host=127.0.0.1 port=1' PUBLICATION own WITH (connect = false)",
		"UPDATE pg_subscription SET subenabled = true WHERE subname = 'other'",
		"INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) SELECT oid, 'keyfill_sequences'::regclass, 'r' FROM pg_subscription WHERE subname = 'other'",
	)
	t.Cleanup(func() {
		_, _ = s.Raw.Exec("ALTER SUBSCRIPTION other DISABLE")
		_, _ = s.Raw.Exec("ALTER SUBSCRIPTION other SET (slot_name = NONE)")
		_, _ = s.Raw.Exec("DROP SUBSCRIPTION other")
	})
}
