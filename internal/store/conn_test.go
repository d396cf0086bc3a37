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
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// strengths are the drivers that a statement may have to go through.
var strengths = []struct {
	name string
	make func(f *fake) driver.Conn
	// around is what is called for one statement, whose text is in the middle.
	before, after string
}{
	{"bare", func(f *fake) driver.Conn { return bareConn{f} }, "prepare\n", "\nclose"},
	{"old", func(f *fake) driver.Conn { return oldConn{bareConn{f}} }, "", ""},
	{"full", func(f *fake) driver.Conn { return fullConn{bareConn{f}} }, "", ""},
	{"skip", func(f *fake) driver.Conn { return skipConn{fullConn{bareConn{f}}} }, "prepare\n", "\nclose"},
}

var orders = sequence.Sequence{Name: "orders.id", Columns: []store.Column{{Table: "orders", Name: "id"}}, Create: true}

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
	for _, c := range strengths {
		t.Run(c.name, func(t *testing.T) {
			around := func(text string) string { return c.before + text + c.after }
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
				f := &fake{answer: engineAnswers(way.d)}
				got, err := sequence.Reserve(context.Background(), way.on(way.d, c.make(f)), orders, 10, 0)
				if err != nil || got.First != 42 {
					t.Errorf("%s: %+v, %v; want 42", way.name, got, err)
				}
				if log := f.lines(); log != way.want {
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
		make func(f *fake) driver.Conn
		want string
	}{
		{"checked", func(f *fake) driver.Conn { return checkedConn{skipConn{fullConn{bareConn{f}}}} }, `1 = "checked 10"`},
		{"converted", func(f *fake) driver.Conn { return pickyConn{bareConn{f}} }, `1 = "10"`},
	} {
		f := &fake{answer: engineAnswers(dialect.SQLite())}
		if _, err := sequence.Reserve(context.Background(), store.On(dialect.SQLite(), c.make(f)), orders, 10, 0); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if log := f.lines(); !strings.Contains(log, c.want) {
			t.Errorf("%s: it sends\n%s\nwant %s", c.name, log, c.want)
		}
	}
}

// TestConnOracle: what comes back in arguments does so through a connection of
// the application too.
func TestConnOracle(t *testing.T) {
	for _, c := range strengths {
		f := &fake{answer: engineAnswers(dialect.Oracle())}
		got, err := sequence.Reserve(context.Background(), store.On(dialect.Oracle(), c.make(f)), orders, 10, 0)
		if err != nil || got != (keysource.Reservation{First: 42, Server: "made@server"}) {
			t.Errorf("%s: %+v, %v; want 42", c.name, got, err)
		}
	}
}

// faults are answers with which nothing may be given out.
var faults = []struct {
	name   string
	d      *dialect.Dialect
	on     string // the statement that is answered so
	answer reply
	want   error
}{
	{"the UPDATE fails", dialect.PostgreSQL(), "UPDATE", reply{err: errRefused}, errRefused},
	{"an error follows the row", dialect.PostgreSQL(), "UPDATE",
		reply{rows: [][]driver.Value{{int64(52), "", ""}}, late: errLate}, errLate},
	{"an error follows no row", dialect.SQLServer(), "UPDATE", reply{late: errLate}, errLate},
	{"two rows", dialect.SQLServer(), "UPDATE",
		reply{rows: [][]driver.Value{{int64(52), "", ""}, {int64(62), "", ""}}}, store.ErrRows},
	{"no integer", dialect.SQLite(), "UPDATE", reply{rows: [][]driver.Value{{"x", "", ""}}}, store.ErrAnswer},
	{"the SELECT fails", dialect.MariaDB(), "SELECT next_value", reply{err: errRefused}, errRefused},
	{"the SELECT ends in an error", dialect.MariaDB(), "SELECT next_value",
		reply{rows: [][]driver.Value{{int64(52), "", ""}}, late: errLate}, errLate},
	{"two rows are changed", dialect.MariaDB(), "UPDATE", reply{affected: 2}, store.ErrRows},
	{"the UPDATE fails, Oracle", dialect.Oracle(), "UPDATE", reply{err: errRefused}, errRefused},
	{"two rows are changed, Oracle", dialect.Oracle(), "UPDATE",
		reply{affected: 2, out: []any{int64(52), "", ""}}, store.ErrRows},
}

// TestLocked: what was read before a row is replaced is given out when one row has
// changed and that has committed.
func TestLocked(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     string // the statement that is answered so
		answer reply
		want   error // nil: any
	}{
		{"no row is changed", "UPDATE", reply{}, nil},
		{"two rows are changed", "UPDATE", reply{affected: 2}, store.ErrRows},
		{"the UPDATE fails", "UPDATE", reply{err: errRefused}, errRefused},
		{"the commit fails", "COMMIT", reply{err: errRefused}, errRefused},
	} {
		usual := engineAnswers(dialect.MariaDB())
		for _, s := range strengths {
			f := &fake{answer: func(query string) reply {
				if strings.HasPrefix(query, c.on) {
					return c.answer
				}
				return usual(query)
			}}
			got, err := sequence.Reserve(context.Background(), store.On(dialect.MariaDB(), s.make(f)), orders, 10, 0)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || got != (keysource.Reservation{}) {
				t.Errorf("%s, %s: %+v, %v; want %v", c.name, s.name, got, err, c.want)
			}
			if log := f.lines(); strings.Contains(log, "rollback") == (c.on == "COMMIT") {
				t.Errorf("%s, %s: it sends\n%s", c.name, s.name, log)
			}
		}
	}
}

// TestFaults: a run is given out when all has gone well, on every kind of
// connection, and the driver's error is passed on.
func TestFaults(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{}
			usual := engineAnswers(c.d)
			usual("INSERT INTO keyfill_sequences")
			f.answer = func(query string) reply {
				if strings.HasPrefix(query, c.on) {
					return c.answer
				}
				return usual(query)
			}
			check := func(where string, st *store.Store) {
				t.Helper()
				got, err := sequence.Reserve(context.Background(), st, orders, 10, 0)
				if !errors.Is(err, c.want) || got != (keysource.Reservation{}) {
					t.Errorf("%s: %+v, %v; want %v", where, got, err, c.want)
				}
				if log := f.lines(); strings.Contains(log, "begin") && strings.Contains(log, "rollback") == (c.on == "COMMIT") {
					t.Errorf("%s: it sends\n%s", where, log)
				}
			}
			for _, s := range strengths {
				check(s.name, store.On(c.d, s.make(f)))
			}
			db := store.Pool(c.d, connector{f, strengths[2].make})
			defer db.Close()
			check("pool", store.New(c.d, db))
		})
	}
}

// MySQLError is as go-sql-driver/mysql's, for which its name stands.
type MySQLError struct{ Number uint16 }

func (e *MySQLError) Error() string { return "an error of MySQL" }

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
		{dialect.MariaDB(), &MySQLError{Number: 1213}},
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
	counter := orders
	counter.Name, counter.Columns = "sales.orders.id", []store.Column{{Schema: "sales", Table: "orders", Name: "id"}}
	owned := series.Options{Owner: "me", Sequence: counter}
	procedure := orders
	procedure.Procedure = "next_key"
	calls := map[string]func(st *store.Store) error{
		"Reserve": func(st *store.Store) error {
			_, err := sequence.Reserve(context.Background(), st, orders, 10, 0)
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
				usual, made := engineAnswers(d), &seriesAnswers{}
				if strings.Contains(name, "series") {
					usual = made.answer
				}
				f := &fake{answer: func(query string) reply {
					if strings.HasPrefix(query, on) && left > 0 {
						left, met, made.made = left-1, true, false
						return reply{err: rolledBack}
					}
					if strings.Contains(query, "next_key") {
						return reply{rows: [][]driver.Value{{int64(42)}}}
					}
					return usual(query)
				}}
				f.answer("INSERT INTO keyfill_sequences")
				db := store.Pool(d, connector{f, strengths[2].make})
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
	f := &fake{answer: func(string) reply { return reply{err: driver.ErrBadConn} }}
	ctx := context.Background()
	_, err := sequence.Reserve(ctx, store.On(dialect.SQLite(), strengths[2].make(f)), orders, 1, 0)
	if err != driver.ErrBadConn {
		t.Errorf("on a connection: %v, want %v", err, driver.ErrBadConn)
	}
	db := store.Pool(dialect.SQLite(), connector{f, strengths[2].make})
	defer db.Close()
	for name, call := range map[string]func(st *store.Store) error{
		"Reserve":      func(st *store.Store) error { _, err := sequence.Reserve(ctx, st, orders, 1, 0); return err },
		"Open":         func(st *store.Store) error { _, err := reserver.Open(ctx, st, orders); return err },
		"Advance":      func(st *store.Store) error { return sequence.Advance(ctx, st, orders, 1) },
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
	f := &fake{answer: engineAnswers(dialect.SQLite())}
	db := store.Pool(dialect.SQLite(), connector{f, strengths[2].make})
	reserver.New(store.New(dialect.SQLite(), db), orders)
	if log := f.lines(); log != "" {
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
	if log := f.lines(); log != "connect\nconnect" {
		t.Errorf("for two: %s", log)
	}
	for _, c := range held {
		c.Close()
	}
	if err := db.Close(); err != nil || f.closed != 0 {
		t.Errorf("Close: %v; the connector was closed %d times", err, f.closed)
	}
}
