package simdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sim"
)

// Client connects a simulated process to the database.
type Client struct {
	DB      *DB
	Process *sim.Process

	// Edit, Wire and Session are set for a mutant, which is a client with a deliberate
	// mistake. Edit changes the text of a statement, Wire a connection to the server,
	// Session a connection to a file.
	Edit func(text string) string
	Wire func(*sim.Conn)
}

// doing is the note of a transaction, by which the laws of a trial know its purpose.
type doing struct {
	note  string
	read  int64
	looks string // the table for which a SELECT MIN gets the note too; may be empty
}

// ServerTime is a number for [Doing] that stands for the time of the server's clock, in
// milliseconds since 1970.
const ServerTime = -1

type doingKey struct{}

// Doing returns a context under which statements that change a row get a note: see
// [sim.Tx.Note].
func Doing(ctx context.Context, note string, read int64) context.Context {
	return context.WithValue(ctx, doingKey{}, doing{note, read, ""})
}

// Looking returns a context like Doing, under which a statement that reads the least row of
// a table gets a note.
func Looking(ctx context.Context, note, table string) context.Context {
	return context.WithValue(ctx, doingKey{}, doing{note, 0, table})
}

// request is a statement as it is sent.
type request struct {
	db     *DB
	s      *statement
	args   []any
	client time.Time
	doing  doing
}

func (c *Client) request(ctx context.Context, query string, args []driver.NamedValue) request {
	if c.Edit != nil {
		query = c.Edit(query)
	}
	r := request{db: c.DB, client: c.Process.Now().Truncate(Tick)}
	r.s, r.args = c.DB.statement(query)
	for _, a := range args {
		r.args = append(r.args, a.Value)
	}
	r.doing, _ = ctx.Value(doingKey{}).(doing)
	return r
}

// run executes the statement on the server.
func (r request) run(tx *sim.Tx) answer {
	before := tx.Changed()
	a := r.db.run(tx, r.s, r.args, r.client)
	looks := r.doing.looks != "" && r.s.table == r.doing.looks && r.s.verb == "select" && r.s.outputs[0].least
	if tx.Changed() > before || looks {
		read := r.doing.read
		if read == ServerTime {
			read = tx.Now().Truncate(Tick).UnixMilli()
		}
		tx.Note(r.doing.note, read)
	}
	return a
}

// answered returns an answer, or an error if it belongs to another statement.
func (r request) answered(a answer) (answer, error) {
	for _, row := range a.rows {
		if len(row) != len(r.s.outputs) {
			return a, sim.ErrReset
		}
	}
	return a, a.err
}

// Connector returns a connector to the store's server over its network.
func (c *Client) Connector() driver.Connector { return connector{c} }

type connector struct{ c *Client }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	wire := c.c.Process.Conn()
	if c.c.Wire != nil {
		c.c.Wire(wire)
	}
	return &conn{of: c.c, wire: wire}, nil
}

func (c connector) Driver() driver.Driver { return nil }

// conn is a connection over the network. If an answer does not come, the connection is
// broken, as with the drivers: the next answer might be the answer to an earlier statement.
type conn struct {
	of     *Client
	wire   *sim.Conn
	broken bool
	tx     context.Context // the context in which the transaction was begun
}

var (
	_ driver.ExecerContext   = (*conn)(nil)
	_ driver.QueryerContext  = (*conn)(nil)
	_ driver.ConnBeginTx     = (*conn)(nil)
	_ driver.Validator       = (*conn)(nil)
	_ driver.SessionResetter = (*conn)(nil)
)

func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("simdb: not prepared") }
func (c *conn) Begin() (driver.Tx, error)           { return c.BeginTx(context.Background(), driver.TxOptions{}) }
func (c *conn) IsValid() bool                       { return !c.broken }

func (c *conn) ResetSession(context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) Close() error {
	c.broken = true
	c.wire.Close()
	return nil
}

func (c *conn) do(ctx context.Context, query string, args []driver.NamedValue) (answer, error) {
	if c.broken {
		return answer{}, driver.ErrBadConn
	}
	r := c.of.request(ctx, query, args)
	a, err := sim.Update(ctx, c.wire, r.run)
	if err != nil {
		return a, c.failed(err)
	}
	return r.answered(a)
}

// failed converts an error to the error that a driver would return.
func (c *conn) failed(err error) error {
	if err == sim.ErrRolledBack {
		return rolledBack(c.of.DB.dialect)
	}
	c.broken = !c.wire.Unpaired
	if err == sim.ErrReset || err == sim.ErrRefused {
		return fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	a, err := c.do(ctx, query, args)
	return result(a), err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	a, err := c.do(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &rows{all: a.rows}, nil
}

func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if c.broken {
		return nil, driver.ErrBadConn
	}
	c.wire.Begin()
	c.tx = ctx
	return tx{c}, nil
}

// tx is the transaction that is open.
type tx struct{ c *conn }

func (t tx) Commit() error   { return t.end(true) }
func (t tx) Rollback() error { return t.end(false) }

func (t tx) end(commit bool) error {
	if t.c.broken {
		return driver.ErrBadConn
	}
	if err := t.c.wire.End(t.c.tx, commit); err != nil {
		return t.c.failed(err)
	}
	return nil
}

// result is the answer to a statement that changes rows, as a driver.Result.
type result answer

func (r result) LastInsertId() (int64, error) { return r.lastID, nil }
func (r result) RowsAffected() (int64, error) { return r.affected, nil }

type rows struct{ all [][]driver.Value }

func (r *rows) Columns() []string {
	if len(r.all) == 0 {
		return []string{""}
	}
	return make([]string, len(r.all[0]))
}

func (r *rows) Close() error { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(r.all) == 0 {
		return io.EOF
	}
	copy(dest, r.all[0])
	r.all = r.all[1:]
	return nil
}

// rolledBack returns the error of a transaction that was rolled back because of other
// transactions.
func rolledBack(d *dialect.Dialect) error {
	if d.Family == dialect.FamilyMySQL {
		return &MySQLError{1213}
	}
	return postgresError("40001")
}

// MySQLError is an error of the simulated MySQL. keyfill recognizes the errors of MySQL's
// driver by this name of the type.
type MySQLError struct{ Number uint16 }

func (e *MySQLError) Error() string { return fmt.Sprintf("simdb: error %d", e.Number) }

// Is reports whether target is the simulator's own error.
func (e *MySQLError) Is(target error) bool { return target == sim.ErrRolledBack }

// postgresError is an SQLSTATE. keyfill recognizes errors of PostgreSQL's drivers by the
// method SQLState.
type postgresError string

func (e postgresError) Error() string        { return "simdb: SQLSTATE " + string(e) }
func (e postgresError) SQLState() string     { return string(e) }
func (e postgresError) Is(target error) bool { return target == sim.ErrRolledBack }
