// Package fakedb is a database for the tests of internal/store and of the packages below
// it: a test sets its answers, and reads which statements were sent. It has drivers of
// several strengths, and compares statements with golden files.
package fakedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// DB is a fake database whose answers a test sets. It logs every statement with its
// arguments, and the calls of the driver around it.
type DB struct {
	Answer func(query string) Reply

	mu     sync.Mutex
	log    []string
	Closed int // counts the connectors that were closed
}

// Reply is the fake's answer to one statement.
type Reply struct {
	Rows     [][]driver.Value
	Affected int64
	ID       int64 // LAST_INSERT_ID
	Out      []any // the values for the sql.Out arguments
	Err      error // the error of the statement
	Late     error // the error that follows the rows
}

// The errors of a statement that is refused, and of rows that are read to their end.
var (
	ErrRefused = errors.New("refused")
	ErrLate    = errors.New("late")
)

// withoutComment returns a query as an engine reads it, which leaves out the comment for
// proxies.
func withoutComment(query string) string {
	return strings.TrimPrefix(query, dialect.PostgreSQL().Latest.Primary)
}

func (f *DB) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// Lines returns the lines that were logged since the last call.
func (f *DB) Lines() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := strings.Join(f.log, "\n")
	f.log = nil
	return all
}

// run logs a statement and returns its answer.
func (f *DB) run(query string, args []driver.NamedValue) (Reply, error) {
	query = withoutComment(query)
	text := query
	for i, arg := range args {
		if arg.Ordinal != i+1 {
			return Reply{}, fmt.Errorf("argument %d has the ordinal %d", i+1, arg.Ordinal)
		}
		out, ok := arg.Value.(sql.Out)
		if ok {
			text += fmt.Sprintf("\n  %d = out %T", i+1, out.Dest)
		} else {
			text += fmt.Sprintf("\n  %d = %#v", i+1, arg.Value)
		}
	}
	f.note("%s", text)
	r := f.Answer(query)
	if r.Err != nil {
		return r, r.Err
	}
	for _, arg := range args {
		if out, ok := arg.Value.(sql.Out); ok && len(r.Out) > 0 {
			switch dest := out.Dest.(type) {
			case *int64:
				*dest = r.Out[0].(int64)
			case *string:
				*dest = r.Out[0].(string)
			}
			r.Out = r.Out[1:]
		}
	}
	return r, nil
}

// connector is a driver.Connector whose connections a function makes.
type connector struct {
	fake *DB
	make func(*DB) driver.Conn
}

// Connector returns a connector to the fake database. The function makes its
// connections.
func Connector(f *DB, make func(*DB) driver.Conn) driver.Connector { return connector{f, make} }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	c.fake.note("connect")
	return c.make(c.fake), nil
}
func (c connector) Driver() driver.Driver { return nil }
func (c connector) Close() error          { c.fake.Closed++; return nil }

// BareConn is a connection with only the methods that every driver must have.
type BareConn struct{ F *DB }

// Prepare implements [driver.Conn].
func (c BareConn) Prepare(query string) (driver.Stmt, error) {
	c.F.note("prepare")
	return bareStmt{c.F, query}, nil
}

// Close implements [driver.Conn].
func (c BareConn) Close() error { return nil }

// Begin implements [driver.Conn].
func (c BareConn) Begin() (driver.Tx, error) {
	c.F.note("begin")
	return fakeTx{c.F}, nil
}

type bareStmt struct {
	f     *DB
	query string
}

func (s bareStmt) Close() error  { s.f.note("close"); return nil }
func (s bareStmt) NumInput() int { return -1 }
func (s bareStmt) Exec(args []driver.Value) (driver.Result, error) {
	return exec(s.f, s.query, named(args))
}
func (s bareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return query(s.f, s.query, named(args))
}

// OldConn is a connection that also has Exec and Query without contexts, as old drivers
// do.
type OldConn struct{ BareConn }

// Exec implements [driver.Execer].
func (c OldConn) Exec(q string, args []driver.Value) (driver.Result, error) {
	return exec(c.F, q, named(args))
}

// Query implements [driver.Queryer].
func (c OldConn) Query(q string, args []driver.Value) (driver.Rows, error) {
	return query(c.F, q, named(args))
}

// FullConn is a connection with all methods that a driver may have.
type FullConn struct{ BareConn }

// FullOf returns a [FullConn] to a fake database.
func FullOf(f *DB) FullConn { return FullConn{BareConn{f}} }

// ExecContext implements [driver.ExecerContext].
func (c FullConn) ExecContext(_ context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return exec(c.F, q, args)
}

// QueryContext implements [driver.QueryerContext].
func (c FullConn) QueryContext(_ context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return query(c.F, q, args)
}

// BeginTx implements [driver.ConnBeginTx].
func (c FullConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c.Begin() }

// PrepareContext implements [driver.ConnPrepareContext].
func (c FullConn) PrepareContext(_ context.Context, q string) (driver.Stmt, error) {
	c.F.note("prepare")
	return fullStmt{bareStmt{c.F, q}}, nil
}

// CheckNamedValue accepts a sql.Out as it is.
func (c FullConn) CheckNamedValue(nv *driver.NamedValue) error {
	if _, ok := nv.Value.(sql.Out); ok {
		return nil
	}
	return driver.ErrSkip
}

type fullStmt struct{ bareStmt }

func (s fullStmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	return exec(s.f, s.query, args)
}
func (s fullStmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return query(s.f, s.query, args)
}

// SkipConn refuses to execute statements directly, so that every statement is prepared,
// as with go-sql-driver/mysql.
type SkipConn struct{ FullConn }

// ExecContext implements [driver.ExecerContext].
func (c SkipConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, driver.ErrSkip
}

// QueryContext implements [driver.QueryerContext].
func (c SkipConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}

// PickyConn is a connection whose statements convert their arguments.
type PickyConn struct{ BareConn }

// Prepare implements [driver.Conn].
func (c PickyConn) Prepare(q string) (driver.Stmt, error) {
	c.F.note("prepare")
	return pickyStmt{bareStmt{c.F, q}}, nil
}

type pickyStmt struct{ bareStmt }

func (s pickyStmt) ColumnConverter(int) driver.ValueConverter { return driver.String }

// CheckedConn is a connection whose statements check arguments before the connection
// does.
type CheckedConn struct{ SkipConn }

// PrepareContext implements [driver.ConnPrepareContext].
func (c CheckedConn) PrepareContext(_ context.Context, q string) (driver.Stmt, error) {
	c.F.note("prepare")
	return checkedStmt{fullStmt{bareStmt{c.F, q}}}, nil
}

type checkedStmt struct{ fullStmt }

func (s checkedStmt) CheckNamedValue(nv *driver.NamedValue) error {
	nv.Value = fmt.Sprint("checked ", nv.Value)
	return nil
}

type fakeTx struct{ f *DB }

func (t fakeTx) Commit() error {
	t.f.note("commit")
	return t.f.Answer("COMMIT").Err
}
func (t fakeTx) Rollback() error { t.f.note("rollback"); return nil }

func exec(f *DB, q string, args []driver.NamedValue) (driver.Result, error) {
	r, err := f.run(q, args)
	if err != nil {
		return nil, err
	}
	return fakeResult{r}, nil
}

type fakeResult struct{ Reply }

func (r fakeResult) LastInsertId() (int64, error) { return r.ID, nil }
func (r fakeResult) RowsAffected() (int64, error) { return r.Affected, nil }

func query(f *DB, q string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := f.run(q, args)
	if err != nil {
		return nil, err
	}
	return &fakeRows{Reply: r}, nil
}

type fakeRows struct {
	Reply
	buffer []byte
}

func (r *fakeRows) Columns() []string {
	if len(r.Rows) == 0 {
		return []string{"a"}
	}
	return make([]string, len(r.Rows[0]))
}
func (r *fakeRows) Close() error { return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.Rows) == 0 {
		clear(r.buffer)
		if r.Late != nil {
			return r.Late
		}
		return io.EOF
	}
	for i, v := range r.Rows[0] {
		if text, ok := v.([]byte); ok {
			// The fake reuses the buffer for each value, as drivers may.
			r.buffer = append(r.buffer[:0], text...)
			v = r.buffer
		}
		dest[i] = v
	}
	r.Rows = r.Rows[1:]
	return nil
}

func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

// Orders is the sequence that most tests use.
var Orders = sequence.Sequence{Name: "orders.id", Columns: []store.Column{{Table: "orders", Name: "id"}}, Create: true}

// strength is a kind of driver, with more or fewer of the methods that a driver may
// have.
type strength struct {
	Name string
	Make func(f *DB) driver.Conn
	// Before and After are the log lines before and after the text of one statement.
	Before, After string
}

// Strengths are all kinds of drivers, from the one with the fewest methods on.
var Strengths = []strength{
	{"bare", func(f *DB) driver.Conn { return BareConn{f} }, "prepare\n", "\nclose"},
	{"old", func(f *DB) driver.Conn { return OldConn{BareConn{f}} }, "", ""},
	{"full", func(f *DB) driver.Conn { return FullConn{BareConn{f}} }, "", ""},
	{"skip", func(f *DB) driver.Conn { return SkipConn{FullConn{BareConn{f}}} }, "prepare\n", "\nclose"},
}

// MySQLError has the name and the number of go-sql-driver/mysql's error, by which
// keyfill recognizes it.
type MySQLError struct{ Number uint16 }

func (e *MySQLError) Error() string { return "an error of MySQL" }

// Pooled returns a store on a pool of connections to the fake database.
func Pooled(t *testing.T, d *dialect.Dialect, f *DB) *store.Store {
	t.Helper()
	db := store.Pool(d, Connector(f, Strengths[2].Make))
	t.Cleanup(func() { db.Close() })
	return store.New(d, db)
}
