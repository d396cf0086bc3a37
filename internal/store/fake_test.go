package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// fake is a database of which a test says what it answers. It logs every
// statement with its arguments, and what goes on around it.
type fake struct {
	answer func(query string) reply

	mu     sync.Mutex
	log    []string
	closed int // connectors
}

// reply is what the fake answers to one statement.
type reply struct {
	rows     [][]driver.Value
	affected int64
	id       int64 // LAST_INSERT_ID
	out      []any // for the sql.Out among the arguments
	err      error // of the statement
	late     error // that follows the rows
}

var (
	errRefused = errors.New("refused")
	errLate    = errors.New("late")
)

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// lines returns what was logged since the last call.
func (f *fake) lines() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := strings.Join(f.log, "\n")
	f.log = nil
	return all
}

// run logs a statement and returns its answer.
func (f *fake) run(query string, args []driver.NamedValue) (reply, error) {
	text := query
	for i, arg := range args {
		if arg.Ordinal != i+1 {
			return reply{}, fmt.Errorf("argument %d has the ordinal %d", i+1, arg.Ordinal)
		}
		out, ok := arg.Value.(sql.Out)
		if ok {
			text += fmt.Sprintf("\n  %d = out %T", i+1, out.Dest)
		} else {
			text += fmt.Sprintf("\n  %d = %#v", i+1, arg.Value)
		}
	}
	f.note("%s", text)
	r := f.answer(query)
	if r.err != nil {
		return r, r.err
	}
	for _, arg := range args {
		if out, ok := arg.Value.(sql.Out); ok && len(r.out) > 0 {
			switch dest := out.Dest.(type) {
			case *int64:
				*dest = r.out[0].(int64)
			case *string:
				*dest = r.out[0].(string)
			}
			r.out = r.out[1:]
		}
	}
	return r, nil
}

// connector hands out connections of the fake, of one strength.
type connector struct {
	fake *fake
	make func(*fake) driver.Conn
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	c.fake.note("connect")
	return c.make(c.fake), nil
}
func (c connector) Driver() driver.Driver { return nil }
func (c connector) Close() error          { c.fake.closed++; return nil }

// bareConn has nothing that a driver need not have.
type bareConn struct{ f *fake }

func (c bareConn) Prepare(query string) (driver.Stmt, error) {
	c.f.note("prepare")
	return bareStmt{c.f, query}, nil
}
func (c bareConn) Close() error { return nil }
func (c bareConn) Begin() (driver.Tx, error) {
	c.f.note("begin")
	return fakeTx(c), nil
}

type bareStmt struct {
	f     *fake
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

// oldConn has Exec and Query, from before contexts.
type oldConn struct{ bareConn }

func (c oldConn) Exec(q string, args []driver.Value) (driver.Result, error) {
	return exec(c.f, q, named(args))
}
func (c oldConn) Query(q string, args []driver.Value) (driver.Rows, error) {
	return query(c.f, q, named(args))
}

// fullConn has everything.
type fullConn struct{ bareConn }

func (c fullConn) ExecContext(_ context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return exec(c.f, q, args)
}
func (c fullConn) QueryContext(_ context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return query(c.f, q, args)
}
func (c fullConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c.Begin() }
func (c fullConn) PrepareContext(_ context.Context, q string) (driver.Stmt, error) {
	c.f.note("prepare")
	return fullStmt{bareStmt{c.f, q}}, nil
}

// CheckNamedValue takes sql.Out as it is.
func (c fullConn) CheckNamedValue(nv *driver.NamedValue) error {
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

// skipConn wants every statement to be prepared, as go-sql-driver does.
type skipConn struct{ fullConn }

func (c skipConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, driver.ErrSkip
}
func (c skipConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}

// pickyConn has statements that convert, and one that checks, arguments.
type pickyConn struct{ bareConn }

func (c pickyConn) Prepare(q string) (driver.Stmt, error) {
	c.f.note("prepare")
	return pickyStmt{bareStmt{c.f, q}}, nil
}

type pickyStmt struct{ bareStmt }

func (s pickyStmt) ColumnConverter(int) driver.ValueConverter { return driver.String }

// checkedConn has statements that check arguments before the connection does.
type checkedConn struct{ skipConn }

func (c checkedConn) PrepareContext(_ context.Context, q string) (driver.Stmt, error) {
	c.f.note("prepare")
	return checkedStmt{fullStmt{bareStmt{c.f, q}}}, nil
}

type checkedStmt struct{ fullStmt }

func (s checkedStmt) CheckNamedValue(nv *driver.NamedValue) error {
	nv.Value = fmt.Sprint("checked ", nv.Value)
	return nil
}

type fakeTx struct{ f *fake }

func (t fakeTx) Commit() error {
	t.f.note("commit")
	return t.f.answer("COMMIT").err
}
func (t fakeTx) Rollback() error { t.f.note("rollback"); return nil }

func exec(f *fake, q string, args []driver.NamedValue) (driver.Result, error) {
	r, err := f.run(q, args)
	if err != nil {
		return nil, err
	}
	return fakeResult{r}, nil
}

type fakeResult struct{ reply }

func (r fakeResult) LastInsertId() (int64, error) { return r.id, nil }
func (r fakeResult) RowsAffected() (int64, error) { return r.affected, nil }

func query(f *fake, q string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := f.run(q, args)
	if err != nil {
		return nil, err
	}
	return &fakeRows{reply: r}, nil
}

type fakeRows struct {
	reply
	buffer []byte
}

func (r *fakeRows) Columns() []string {
	if len(r.rows) == 0 {
		return []string{"a"}
	}
	return make([]string, len(r.rows[0]))
}
func (r *fakeRows) Close() error { return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		clear(r.buffer)
		if r.late != nil {
			return r.late
		}
		return io.EOF
	}
	for i, v := range r.rows[0] {
		if text, ok := v.([]byte); ok {
			// As drivers may, the fake uses the bytes again.
			r.buffer = append(r.buffer[:0], text...)
			v = r.buffer
		}
		dest[i] = v
	}
	r.rows = r.rows[1:]
	return nil
}

func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}
