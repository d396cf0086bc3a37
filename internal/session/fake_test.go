package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// fakeConn is a driver's connection with answers that a test sets. It notes the texts
// that it was sent.
type fakeConn struct {
	sent   []string
	answer func(query string) ([]driver.Value, error)
	endErr error // of the next Commit or Rollback
}

func (f *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (f *fakeConn) Close() error                        { return nil }
func (f *fakeConn) Begin() (driver.Tx, error)           { return fakeTx{f}, nil }

func (f *fakeConn) ask(query string) ([]driver.Value, error) {
	f.sent = append(f.sent, query)
	if f.answer == nil {
		return nil, nil
	}
	return f.answer(query)
}

func (f *fakeConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	_, err := f.ask(query)
	return driver.RowsAffected(0), err
}

func (f *fakeConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	row, err := f.ask(query)
	if err != nil {
		return nil, err
	}
	return &fakeRows{row: row}, nil
}

type fakeTx struct{ conn *fakeConn }

func (t fakeTx) Commit() error   { return t.conn.endErr }
func (t fakeTx) Rollback() error { return t.conn.endErr }

// fakeRows are one row, or none.
type fakeRows struct{ row []driver.Value }

func (r *fakeRows) Columns() []string { return make([]string, len(r.row)) }
func (r *fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(dest []driver.Value) error {
	if r.row == nil {
		return io.EOF
	}
	copy(dest, r.row)
	r.row = nil
	return nil
}

// newConn returns a connection to an engine.
func newConn(d *dialect.Dialect, facts drivers.Facts) (*Conn, *fakeConn) {
	f := &fakeConn{}
	c := New(f, NewServer(facts, []*dialect.Dialect{d}))
	return &c, f
}

var errFailed = errors.New("the engine says no")

// run runs a step of a test: "BeginTx", "Commit" and "Rollback" of database/sql, "reset"
// for the next use of the connection, and any other as a text that is executed. A step
// that ends in "!" fails.
func run(t *testing.T, c *Conn, f *fakeConn, tx *driver.Tx, step string) {
	t.Helper()
	var failed error
	if n := len(step) - 1; step[n] == '!' {
		step, failed = step[:n], errFailed
	}
	ctx := context.Background()
	f.endErr = failed
	switch step {
	case "BeginTx":
		one, err := c.BeginTx(ctx, driver.TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		*tx = one
	case "Commit":
		_ = (*tx).Commit()
	case "Rollback":
		_ = (*tx).Rollback()
	case "reset":
		_ = c.ResetSession(ctx)
	default:
		d := c.dialect()
		f.answer = func(string) ([]driver.Value, error) { return nil, failed }
		c.NoteTemporary(step, words.Concerns(d, step))
		_, err := c.ExecContext(ctx, step, nil)
		c.NoteRan(effects.TransactionOf(d, step), words.Concerns(d, step), err)
	}
}
