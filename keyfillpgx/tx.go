package keyfillpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tx is a transaction of the application. It behaves as a transaction of pgx does.
type tx struct {
	conn    *Conn
	pgx     pgx.Tx
	keyfill driver.Tx // keyfill's transaction, which wraps pgx
	saves   int64     // the number of savepoints that were set, for the name of the next one
	closed  bool
	release func() // releases the connection once the transaction has ended
}

var (
	_ pgx.Tx = (*tx)(nil)
	_ pgx.Tx = (*savedTx)(nil)
)

// beginTx begins a transaction. release is called when the transaction has ended, but not
// if it could not begin.
func (c *Conn) beginTx(ctx context.Context, o pgx.TxOptions, release func()) (*tx, error) {
	c.native.begin = &o
	begun, err := c.keyfill.BeginTx(ctx, driver.TxOptions{ReadOnly: o.AccessMode == pgx.ReadOnly})
	c.native.begin = nil
	if err != nil {
		return nil, err
	}
	return c.newTx(begun, release), nil
}

// newTx returns a transaction that keyfill has begun.
func (c *Conn) newTx(begun driver.Tx, release func()) *tx {
	t := &tx{conn: c, pgx: c.native.last, keyfill: begun, release: release}
	c.native.last = nil
	return t
}

// Begin sets a savepoint, with a name as pgx gives it.
func (t *tx) Begin(ctx context.Context) (pgx.Tx, error) {
	if t.closed {
		return nil, pgx.ErrTxClosed
	}
	t.saves++
	s := &savedTx{Tx: t, name: "sp_" + strconv.FormatInt(t.saves, 10)}
	if _, err := t.conn.Exec(ctx, "savepoint "+s.name); err != nil {
		return nil, err
	}
	return s, nil
}

func (t *tx) Commit(ctx context.Context) error { return t.end(ctx, t.keyfill.Commit) }

func (t *tx) Rollback(ctx context.Context) error { return t.end(ctx, t.keyfill.Rollback) }

func (t *tx) end(ctx context.Context, end func() error) error {
	if t.closed {
		return pgx.ErrTxClosed
	}
	t.closed = true
	t.conn.native.ending = ctx
	err := end()
	t.conn.native.ending = nil
	t.release()
	return err
}

func (t *tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if t.closed {
		return 0, pgx.ErrTxClosed
	}
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

// errBatchTx is the error that pgx returns for a batch that begins a transaction within a
// transaction.
var errBatchTx = errors.New("Batch.BeginTx cannot be used within a transaction")

func (t *tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.closed {
		return pgx.FailedBatchResults(b, pgx.ErrTxClosed)
	}
	if begins(b) {
		return pgx.FailedBatchResults(b, errBatchTx)
	}
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects returns the large objects of pgx, whose statements concern no table of a
// policy.
func (t *tx) LargeObjects() pgx.LargeObjects { return t.pgx.LargeObjects() }

func (t *tx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if t.closed {
		return nil, pgx.ErrTxClosed
	}
	return t.conn.Prepare(ctx, name, sql)
}

func (t *tx) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	if t.closed {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	return t.conn.Exec(ctx, sql, arguments...)
}

func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.closed {
		return errRows{pgx.ErrTxClosed}, pgx.ErrTxClosed
	}
	return t.conn.Query(ctx, sql, args...)
}

func (t *tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := t.Query(ctx, sql, args...) // Scan returns the error of Query
	return oneRow{rows}
}

// Conn returns the connection of pgx: see [Conn.Conn].
func (t *tx) Conn() *pgx.Conn { return t.conn.Conn() }

// savedTx is a transaction in a transaction, which is a savepoint. Until the savepoint is
// released or rolled back, it has the methods of the transaction around it.
type savedTx struct {
	pgx.Tx
	name   string
	closed bool
}

// Begin sets a savepoint in the savepoint.
func (s *savedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if s.closed {
		return nil, pgx.ErrTxClosed
	}
	return s.Tx.Begin(ctx)
}

func (s *savedTx) Commit(ctx context.Context) error { return s.end(ctx, "release savepoint ") }

func (s *savedTx) Rollback(ctx context.Context) error { return s.end(ctx, "rollback to savepoint ") }

func (s *savedTx) end(ctx context.Context, how string) error {
	if s.closed {
		return pgx.ErrTxClosed
	}
	_, err := s.Exec(ctx, how+s.name)
	s.closed = true
	return err
}

func (s *savedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if s.closed {
		return 0, pgx.ErrTxClosed
	}
	return s.Tx.CopyFrom(ctx, table, columns, rows)
}

func (s *savedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if s.closed {
		return pgx.FailedBatchResults(b, pgx.ErrTxClosed)
	}
	return s.Tx.SendBatch(ctx, b)
}

func (s *savedTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if s.closed {
		return nil, pgx.ErrTxClosed
	}
	return s.Tx.Prepare(ctx, name, sql)
}

func (s *savedTx) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	if s.closed {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	return s.Tx.Exec(ctx, sql, arguments...)
}

func (s *savedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if s.closed {
		return errRows{pgx.ErrTxClosed}, pgx.ErrTxClosed
	}
	return s.Tx.Query(ctx, sql, args...)
}

func (s *savedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := s.Query(ctx, sql, args...) // Scan returns the error of Query
	return oneRow{rows}
}
