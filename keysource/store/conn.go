package store

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/dbconn"
)

// conn is where the statements of a store run.
type conn interface {
	// exec returns how many rows a statement has changed.
	exec(ctx context.Context, query string, args []any) (int64, error)

	// query returns the only row of an answer, nil when there is none. It has
	// then read the answer to its end: what the engine says last, such as
	// that the commit has failed, is an error and not a row.
	query(ctx context.Context, query string, args []any) ([]any, error)

	// rows returns all rows of an answer, read as query does.
	rows(ctx context.Context, query string, args []any) ([][]any, error)

	// transact runs f in a transaction and commits it.
	transact(ctx context.Context, f func(conn) error) error
}

// pool is a *sql.DB.
type pool struct{ db *sql.DB }

func (p pool) exec(ctx context.Context, query string, args []any) (int64, error) {
	return exec(ctx, p.db, query, args)
}

func (p pool) query(ctx context.Context, query string, args []any) ([]any, error) {
	return query1(ctx, p.db, query, args)
}

func (p pool) rows(ctx context.Context, query string, args []any) ([][]any, error) {
	return rows(ctx, p.db, query, args)
}

func (p pool) transact(ctx context.Context, f func(conn) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := f(transaction{tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// transaction is a *sql.Tx.
type transaction struct{ tx *sql.Tx }

func (t transaction) exec(ctx context.Context, query string, args []any) (int64, error) {
	return exec(ctx, t.tx, query, args)
}

func (t transaction) query(ctx context.Context, query string, args []any) ([]any, error) {
	return query1(ctx, t.tx, query, args)
}

func (t transaction) rows(ctx context.Context, query string, args []any) ([][]any, error) {
	return rows(ctx, t.tx, query, args)
}

func (t transaction) transact(_ context.Context, f func(conn) error) error { return f(t) }

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func exec(ctx context.Context, e execer, query string, args []any) (int64, error) {
	res, err := e.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func query1(ctx context.Context, q dbconn.Queryer, query string, args []any) ([]any, error) {
	var row []any
	if err := dbconn.QueryPool(ctx, q, query, args, only(&row)); err != nil {
		return nil, err
	}
	return row, nil
}

func rows(ctx context.Context, q dbconn.Queryer, query string, args []any) ([][]any, error) {
	var all [][]any
	err := dbconn.QueryPool(ctx, q, query, args, every(&all))
	return all, err
}

// every keeps all rows of an answer.
func every(all *[][]any) func([]any) error {
	return func(next []any) error {
		*all = append(*all, next)
		return nil
	}
}

// only keeps the only row of an answer.
func only(row *[]any) func([]any) error {
	return func(next []any) error {
		if *row != nil {
			return ErrRows
		}
		*row = next
		return nil
	}
}

// driverConn is a connection of a driver.
type driverConn struct{ conn driver.Conn }

// openTx is a connection on which a transaction is open.
type openTx struct{ driverConn }

func (c openTx) transact(_ context.Context, f func(conn) error) error { return f(c) }

func (c driverConn) transact(ctx context.Context, f func(conn) error) error {
	tx, err := dbconn.Begin(ctx, c.conn)
	if err != nil {
		return err
	}
	if err := f(openTx{c}); err != nil {
		// The error of f is the cause of any that follows.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (c driverConn) exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := dbconn.Exec(ctx, c.conn, query, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c driverConn) query(ctx context.Context, query string, args []any) ([]any, error) {
	var row []any
	if err := dbconn.Query(ctx, c.conn, query, args, only(&row)); err != nil {
		return nil, err
	}
	return row, nil
}

func (c driverConn) rows(ctx context.Context, query string, args []any) ([][]any, error) {
	var all [][]any
	err := dbconn.Query(ctx, c.conn, query, args, every(&all))
	return all, err
}
