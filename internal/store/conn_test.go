package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

const (
	updateSQLite = `UPDATE keyfill_sequences
SET next_value = next_value + ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE name = ? AND next_value BETWEEN ? AND ?
RETURNING next_value, incarnation, ''
  1 = 10
  2 = "orders.id"
  3 = 1
  4 = 9223372036854775797`
	selectMySQL = `SELECT next_value, incarnation, '' FROM keyfill_sequences WHERE name = ? FOR UPDATE
  1 = "orders.id"`
	updateMySQL = `UPDATE keyfill_sequences
SET next_value = ?, updated_at = UTC_TIMESTAMP(6)
WHERE name = ? AND next_value = ? AND incarnation = ?
  1 = 52
  2 = "orders.id"
  3 = 42
  4 = "made"`
)

// TestConnStrengths: a reservation on the application's connection takes the
// way that the driver has, and no transaction but its own.
func TestConnStrengths(t *testing.T) {
	for _, c := range fakedb.Strengths {
		t.Run(c.Name, func(t *testing.T) {
			around := func(text string) string { return c.Before + text + c.After }
			for _, way := range []struct {
				name string
				d    *dialect.Dialect
				on   func(*dialect.Dialect, driver.Conn) *store.Store
				want string
			}{
				{"on", dialect.SQLite(), store.On, around(updateSQLite)},
				{"within", dialect.SQLite(), store.Within, around(updateSQLite)},
				{"on, two statements", dialect.MariaDB(), store.On,
					"begin\n" + around(selectMySQL) + "\n" + around(updateMySQL) + "\ncommit"},
				{"within, two statements", dialect.MariaDB(), store.Within,
					around(selectMySQL) + "\n" + around(updateMySQL)},
			} {
				f := &fakedb.DB{Answer: fakedb.EngineAnswers(way.d)}
				got, err := sequence.Reserve(context.Background(), way.on(way.d, c.Make(f)), fakedb.Orders, 10, 0)
				if err != nil || got.First != 42 {
					t.Errorf("%s: %+v, %v; want 42", way.name, got, err)
				}
				if log := f.Lines(); log != way.want {
					t.Errorf("%s: it sends\n%s\nwant\n%s", way.name, log, way.want)
				}
			}
		})
	}
}

// TestConnConverters: a statement's checker is asked before the connection's,
// and its converters last.
func TestConnConverters(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(f *fakedb.DB) driver.Conn
		want string
	}{
		{"checked", func(f *fakedb.DB) driver.Conn {
			return fakedb.CheckedConn{SkipConn: fakedb.SkipConn{FullConn: fakedb.FullOf(f)}}
		}, `1 = "checked 10"`},
		{"converted", func(f *fakedb.DB) driver.Conn { return fakedb.PickyConn{BareConn: fakedb.BareConn{F: f}} }, `1 = "10"`},
	} {
		f := &fakedb.DB{Answer: fakedb.EngineAnswers(dialect.SQLite())}
		if _, err := sequence.Reserve(context.Background(), store.On(dialect.SQLite(), c.make(f)), fakedb.Orders, 10, 0); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if log := f.Lines(); !strings.Contains(log, c.want) {
			t.Errorf("%s: it sends\n%s\nwant %s", c.name, log, c.want)
		}
	}
}

// TestConnOracle: what comes back in arguments does so through a connection of
// the application too.
func TestConnOracle(t *testing.T) {
	for _, c := range fakedb.Strengths {
		f := &fakedb.DB{Answer: fakedb.EngineAnswers(dialect.Oracle())}
		got, err := sequence.Reserve(context.Background(), store.On(dialect.Oracle(), c.Make(f)), fakedb.Orders, 10, 0)
		if err != nil || got != (keysource.Reservation{First: 42, Server: "made@server"}) {
			t.Errorf("%s: %+v, %v; want 42", c.Name, got, err)
		}
	}
}

// faults are answers with which nothing may be given out.
var faults = []struct {
	name   string
	d      *dialect.Dialect
	on     string // the statement that is answered so
	answer fakedb.Reply
	want   error
}{
	{"the UPDATE fails", dialect.PostgreSQL(), "UPDATE", fakedb.Reply{Err: fakedb.ErrRefused}, fakedb.ErrRefused},
	{"an error follows the row", dialect.PostgreSQL(), "UPDATE",
		fakedb.Reply{Rows: [][]driver.Value{{int64(52), "", ""}}, Late: fakedb.ErrLate}, fakedb.ErrLate},
	{"an error follows no row", dialect.SQLServer(), "UPDATE", fakedb.Reply{Late: fakedb.ErrLate}, fakedb.ErrLate},
	{"two rows", dialect.SQLServer(), "UPDATE",
		fakedb.Reply{Rows: [][]driver.Value{{int64(52), "", ""}, {int64(62), "", ""}}}, store.ErrRows},
	{"no integer", dialect.SQLite(), "UPDATE", fakedb.Reply{Rows: [][]driver.Value{{"x", "", ""}}}, store.ErrAnswer},
	{"the SELECT fails", dialect.MariaDB(), "SELECT next_value", fakedb.Reply{Err: fakedb.ErrRefused}, fakedb.ErrRefused},
	{"the SELECT ends in an error", dialect.MariaDB(), "SELECT next_value",
		fakedb.Reply{Rows: [][]driver.Value{{int64(52), "", ""}}, Late: fakedb.ErrLate}, fakedb.ErrLate},
	{"two rows are changed", dialect.MariaDB(), "UPDATE", fakedb.Reply{Affected: 2}, store.ErrRows},
	{"the UPDATE fails, Oracle", dialect.Oracle(), "UPDATE", fakedb.Reply{Err: fakedb.ErrRefused}, fakedb.ErrRefused},
	{"two rows are changed, Oracle", dialect.Oracle(), "UPDATE",
		fakedb.Reply{Affected: 2, Out: []any{int64(52), "", ""}}, store.ErrRows},
}

// TestLocked: what was read before a row is replaced is given out when one row has
// changed and that has committed.
func TestLocked(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     string // the statement that is answered so
		answer fakedb.Reply
		want   error // nil: any
	}{
		{"no row is changed", "UPDATE", fakedb.Reply{}, nil},
		{"two rows are changed", "UPDATE", fakedb.Reply{Affected: 2}, store.ErrRows},
		{"the UPDATE fails", "UPDATE", fakedb.Reply{Err: fakedb.ErrRefused}, fakedb.ErrRefused},
		{"the commit fails", "COMMIT", fakedb.Reply{Err: fakedb.ErrRefused}, fakedb.ErrRefused},
	} {
		usual := fakedb.EngineAnswers(dialect.MariaDB())
		for _, s := range fakedb.Strengths {
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				if strings.HasPrefix(query, c.on) {
					return c.answer
				}
				return usual(query)
			}}
			got, err := sequence.Reserve(context.Background(), store.On(dialect.MariaDB(), s.Make(f)), fakedb.Orders, 10, 0)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || got != (keysource.Reservation{}) {
				t.Errorf("%s, %s: %+v, %v; want %v", c.name, s.Name, got, err, c.want)
			}
			if log := f.Lines(); strings.Contains(log, "rollback") == (c.on == "COMMIT") {
				t.Errorf("%s, %s: it sends\n%s", c.name, s.Name, log)
			}
		}
	}
}

// TestFaults: a run is given out when all has gone well, on every kind of
// connection, and the driver's error is passed on.
func TestFaults(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			f := &fakedb.DB{}
			usual := fakedb.EngineAnswers(c.d)
			usual("INSERT INTO keyfill_sequences")
			f.Answer = func(query string) fakedb.Reply {
				if strings.HasPrefix(query, c.on) {
					return c.answer
				}
				return usual(query)
			}
			check := func(where string, st *store.Store) {
				t.Helper()
				got, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 10, 0)
				if !errors.Is(err, c.want) || got != (keysource.Reservation{}) {
					t.Errorf("%s: %+v, %v; want %v", where, got, err, c.want)
				}
				if log := f.Lines(); strings.Contains(log, "begin") && strings.Contains(log, "rollback") == (c.on == "COMMIT") {
					t.Errorf("%s: it sends\n%s", where, log)
				}
			}
			for _, s := range fakedb.Strengths {
				check(s.Name, store.On(c.d, s.Make(f)))
			}
			db := store.Pool(c.d, fakedb.Connector(f, fakedb.Strengths[2].Make))
			defer db.Close()
			check("pool", store.New(c.d, db))
		})
	}
}

// stateError is an error of PostgreSQL, by its SQLSTATE.
type stateError string

func (e stateError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateError) SQLState() string { return string(e) }

// TestRolledBack: what the engine has rolled back for the sake of others is done
// again on connections of our own, with the transaction that it was in, and is no
// sign that a table or a procedure cannot be used.
func TestRolledBack(t *testing.T) {
	for _, c := range []struct {
		d   *dialect.Dialect
		err error
	}{
		{dialect.MariaDB(), &fakedb.MySQLError{Number: 1213}},
		{dialect.PostgreSQL(), stateError("40001")},
		{dialect.PostgreSQL(), stateError("40P01")},
	} {
		t.Run(fmt.Sprint(c.d.Name, " ", c.err), func(t *testing.T) {
			t.Parallel() // it waits between its tries
			testRolledBack(t, c.d, c.err)
		})
	}
}

// testRolledBack has an engine answer each statement with an error of its own that says
// that it has rolled back.
func testRolledBack(t *testing.T, d *dialect.Dialect, rolledBack error) {
	t.Helper()
	counter := fakedb.Orders
	counter.Name, counter.Columns = "sales.orders.id", []store.Column{{Schema: "sales", Table: "orders", Name: "id"}}
	owned := series.Options{Owner: "me", Sequence: counter}
	procedure := fakedb.Orders
	procedure.Procedure = "next_key"
	calls := map[string]func(st *store.Store) error{
		"Reserve": func(st *store.Store) error {
			_, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 10, 0)
			return err
		},
		"Mark": func(st *store.Store) error {
			_, err := worker.Mark(context.Background(), st, worker.Worker{Name: "w", Number: 1}, 2000)
			return err
		},
		"Open of a series": func(st *store.Store) error {
			_, err := series.New(st, owned).Open(context.Background(), 0)
			return err
		},
		"Procedure": func(st *store.Store) error {
			_, err := sequence.Reserve(context.Background(), st, procedure, 10, 0)
			return err
		},
	}
	for name, call := range calls {
		for _, on := range []string{"UPDATE keyfill", "SELECT", "CALL", "COMMIT", "INSERT INTO keyfill_series"} {
			for _, times := range []int{3, 1000} {
				left, met := times, false
				usual, made := fakedb.EngineAnswers(d), &fakedb.SeriesAnswers{}
				if strings.Contains(name, "series") {
					usual = made.Answer
				}
				f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
					if strings.HasPrefix(query, on) && left > 0 {
						left, met, made.Made = left-1, true, false
						return fakedb.Reply{Err: rolledBack}
					}
					if strings.Contains(query, "next_key") {
						return fakedb.Reply{Rows: [][]driver.Value{{int64(42)}}}
					}
					return usual(query)
				}}
				f.Answer("INSERT INTO keyfill_sequences")
				db := store.Pool(d, fakedb.Connector(f, fakedb.Strengths[2].Make))
				err := call(store.New(d, db))
				db.Close()
				switch {
				case !met && err != nil, met && times == 3 && err != nil:
					t.Errorf("%s, %d × %s: %v", name, times, on, err)
				case met && times == 1000 && (!errors.Is(err, rolledBack) || errors.Is(err, keysource.ErrStoreState)):
					t.Errorf("%s, %s for ever: %v", name, on, err)
				case err != nil && strings.Count(err.Error(), "using ") > 1:
					t.Errorf("%s, %s: it says more than once what was used: %v", name, on, err)
				}
			}
		}
	}
}

// TestBadConn: on the application's connection driver.ErrBadConn is what it is
// for database/sql; on the store's own it is not passed on as one.
func TestBadConn(t *testing.T) {
	f := &fakedb.DB{Answer: func(string) fakedb.Reply { return fakedb.Reply{Err: driver.ErrBadConn} }}
	ctx := context.Background()
	_, err := sequence.Reserve(ctx, store.On(dialect.SQLite(), fakedb.Strengths[2].Make(f)), fakedb.Orders, 1, 0)
	if err != driver.ErrBadConn {
		t.Errorf("on a connection: %v, want %v", err, driver.ErrBadConn)
	}
	db := store.Pool(dialect.SQLite(), fakedb.Connector(f, fakedb.Strengths[2].Make))
	defer db.Close()
	for name, call := range map[string]func(st *store.Store) error{
		"Reserve":      func(st *store.Store) error { _, err := sequence.Reserve(ctx, st, fakedb.Orders, 1, 0); return err },
		"Open":         func(st *store.Store) error { _, err := reserver.Open(ctx, st, fakedb.Orders); return err },
		"Advance":      func(st *store.Store) error { return sequence.Advance(ctx, st, fakedb.Orders, 1) },
		"EnsureSchema": func(st *store.Store) error { return schema.Of(st).Ensure(ctx) },
		"Mark": func(st *store.Store) error {
			_, err := worker.Mark(ctx, st, worker.Worker{Name: "x"}, 1)
			return err
		},
		"Marker": func(st *store.Store) error {
			_, err := worker.New(st, worker.Worker{Name: "x"}).Mark(ctx, 1)
			return err
		},
	} {
		err := call(store.New(dialect.PostgreSQL(), db))
		if err == nil || errors.Is(err, driver.ErrBadConn) || errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPool: the connector is lent: it stays open, and has no connection before
// it is needed, nor more than two.
func TestPool(t *testing.T) {
	f := &fakedb.DB{Answer: fakedb.EngineAnswers(dialect.SQLite())}
	db := store.Pool(dialect.SQLite(), fakedb.Connector(f, fakedb.Strengths[2].Make))
	reserver.New(store.New(dialect.SQLite(), db), fakedb.Orders)
	if log := f.Lines(); log != "" {
		t.Errorf("before its first use: %s", log)
	}
	if n := db.Stats().MaxOpenConnections; n != 2 {
		t.Errorf("%d connections may be open, want 2", n)
	}
	var held []*sql.Conn
	for range 2 {
		c, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	if log := f.Lines(); log != "connect\nconnect" {
		t.Errorf("for two: %s", log)
	}
	for _, c := range held {
		c.Close()
	}
	if err := db.Close(); err != nil || f.Closed != 0 {
		t.Errorf("Close: %v; the connector was closed %d times", err, f.Closed)
	}
}
