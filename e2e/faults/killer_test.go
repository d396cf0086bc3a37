package faults_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// killer kills the session of a connection of MySQL or PostgreSQL, once, when an
// INSERT is about to reach the driver. The driver notices it at the first use,
// and says driver.ErrBadConn at the next, which is what it answers here.
type killer struct {
	sqlmw.NullInterceptor
	prepares bool   // the driver answers driver.ErrSkip to Exec
	kill     func() // nil when it is done
}

func (k *killer) due(query string) bool {
	if k.kill == nil || !strings.HasPrefix(query, "INSERT INTO t ") {
		return false
	}
	k.kill()
	k.kill = nil
	return true
}

func (k *killer) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if !k.prepares && k.due(query) {
		if res, err := conn.ExecContext(ctx, query, args); err == nil {
			return res, err
		}
	}
	return conn.ExecContext(ctx, query, args)
}

func (k *killer) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	if k.due(query) {
		if stmt, err := conn.PrepareContext(ctx, query); err == nil {
			return ctx, stmt, err
		}
	}
	stmt, err := conn.PrepareContext(ctx, query)
	return ctx, stmt, err
}

// TestRetryKilled: a connection is killed when the key is drawn and before the
// INSERT is sent. database/sql tries again on another one, where the statement
// has the key of the first attempt under a record, and another one without.
func TestRetryKilled(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PQDefault}) {
		for _, recorded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/recorded=%v", e.Name, recorded), func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				k := &killer{prepares: e.Name == "mysql"}
				cfg := harness.Blocks("t", 100)
				cfg.Dialect = s.Dialect.Name
				db, _ := harness.OpenConnector(t, harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, k)), cfg)
				db.SetMaxOpenConns(1)
				insert := s.Placeholders("INSERT INTO t (a) VALUES (?)")
				harness.Exec(t, db, insert, 0)
				id := s.SessionOf(t, db)
				k.kill = func() { s.Kill(t, id) }

				ctx, rec, want := context.Background(), (*keyfill.Recorder)(nil), 3
				if recorded {
					ctx, rec = keyfill.Record(ctx)
					want = 2
				}
				if _, err := db.ExecContext(ctx, insert, 1); err != nil {
					t.Fatal(err)
				}
				if got := harness.Count(t, s.Raw, "SELECT id FROM t WHERE a = 1"); got != want || k.kill != nil {
					t.Errorf("the key is %d, want %d", got, want)
				}
				if recorded && (len(rec.All()) != 1 || rec.All()[0].Outcome != keyfill.Stored) {
					t.Errorf("recorded %+v", rec.All())
				}
			})
		}
	}
}

// flaky is a connector whose connections answer driver.ErrBadConn to an INSERT while a
// number of such answers is left.
type flaky struct {
	driver.Connector
	left atomic.Int32
}

func (f *flaky) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &flakyConn{c.(fullConn), f}, nil
}

// fullConn is what modernc.org/sqlite's connections are.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type flakyConn struct {
	fullConn
	flaky *flaky
}

func (c *flakyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "INSERT INTO t ") && c.flaky.left.Add(-1) >= 0 {
		return nil, driver.ErrBadConn
	}
	return c.fullConn.ExecContext(ctx, query, args)
}

// TestRetryOnConnection: keys that are reserved on the statement's own
// connection are drawn again, record or not: a transaction on the lost one may
// have given them back.
func TestRetryOnConnection(t *testing.T) {
	t.Parallel()
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	f := &flaky{Connector: s.Connector}
	db, _ := harness.OpenConnector(t, f, harness.Blocks("t", 10))
	ctx, rec := keyfill.Record(context.Background())
	f.left.Store(2)
	if _, err := db.ExecContext(ctx, "INSERT INTO t (a) VALUES (?)", 1); err != nil {
		t.Fatal(err)
	}
	if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t"); !slices.Equal(got, []int64{3}) {
		t.Errorf("keys %v, want 3", got)
	}
	var outcomes []keyfill.Outcome
	for _, k := range rec.All() {
		outcomes = append(outcomes, k.Outcome)
	}
	if !slices.Equal(outcomes, []keyfill.Outcome{keyfill.Unknown, keyfill.Unknown, keyfill.Stored}) {
		t.Errorf("outcomes %v", outcomes)
	}

	// A state in a store of its own belongs to no connection.
	cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Store: "central", Start: 500,
		Exclusive: true}}) // the first source is gone
	cfg.Stores = map[string]policy.Store{"central": {Driver: "sqlite", DSN: "file:" + t.TempDir() + "/central.db?" + harness.Patience}}
	db, _ = harness.OpenConnector(t, f, cfg)
	ctx, rec = keyfill.Record(context.Background())
	f.left.Store(2)
	if _, err := db.ExecContext(ctx, "INSERT INTO t (a) VALUES (?)", 2); err != nil {
		t.Fatal(err)
	}
	if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 2"); !slices.Equal(got, []int64{500}) || len(rec.All()) != 1 {
		t.Errorf("keys %v, recorded %v; want 500", got, rec.All())
	}
}

// skipping is a connector whose connections answer driver.ErrSkip to an Exec
// with arguments, as go-sql-driver and ncruces/go-sqlite3 do.
type skipping struct{ driver.Connector }

func (s skipping) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return skippingConn{c.(fullConn)}, nil
}

type skippingConn struct{ fullConn }

func (c skippingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		return nil, driver.ErrSkip
	}
	return c.fullConn.ExecContext(ctx, query, args)
}

// TestParkedRollback: keys that were reserved inside a transaction, and wait for
// database/sql to come back with the prepared statement, are not used when a
// rollback came between: it gave them back.
func TestParkedRollback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, begin, between string }{
		{"rollback", "BEGIN", "ROLLBACK; BEGIN"},
		{"to a savepoint", "BEGIN; SAVEPOINT a", "ROLLBACK TO a"},
		{"unseen", "BEGIN", "prepared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.WalFile.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
			db, _ := harness.OpenConnector(t, skipping{s.Connector}, harness.Blocks("t", 10))
			ctx := context.Background()
			insert := "INSERT INTO t (a) VALUES (?)"
			arg := func(v int64) []driver.NamedValue { return []driver.NamedValue{{Ordinal: 1, Value: v}} }
			err := harness.ConnOf(t, db).Raw(func(raw any) error {
				dc := raw.(fullConn)
				run := func(query string, args []driver.NamedValue) error {
					stmt, err := dc.PrepareContext(ctx, query)
					if err != nil {
						return err
					}
					defer stmt.Close()
					_, err = stmt.(driver.StmtExecContext).ExecContext(ctx, args)
					return err
				}
				if c.between == "prepared" {
					if err := errors.Join(run("BEGIN", nil), run("ROLLBACK", nil)); err != nil {
						return err
					}
				}
				if _, err := dc.ExecContext(ctx, c.begin, nil); err != nil {
					return err
				}
				if _, err := dc.ExecContext(ctx, insert, arg(1)); err != driver.ErrSkip {
					return fmt.Errorf("want ErrSkip: %w", err)
				}
				var err error
				if c.between == "prepared" {
					err = errors.Join(run("ROLLBACK", nil), run("BEGIN", nil))
				} else {
					_, err = dc.ExecContext(ctx, c.between, nil)
				}
				// Another one gets the key that came back.
				err = errors.Join(err, run(insert, arg(2)), run(insert, arg(1)))
				_, last := dc.ExecContext(ctx, "COMMIT", nil)
				return errors.Join(err, last)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT a FROM t ORDER BY id"); !slices.Equal(got, []int64{2, 1}) {
				t.Errorf("in the order of keys: %v, want 2 and 1", got)
			}
		})
	}
}
