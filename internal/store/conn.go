package store

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Conn executes the statements of a store: on a pool, on one connection, or in a
// transaction.
type Conn interface {
	// Exec executes a statement and returns how many rows it has changed.
	Exec(ctx context.Context, query string, args []any) (int64, error)

	// ExecID executes a statement as Exec does, and also returns the LAST_INSERT_ID from
	// the same answer.
	ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error)

	// Query returns the only row of a result, nil if the result has no row. It reads the
	// result to its end: an error that the engine reports last, such as a failed commit,
	// is returned instead of the row.
	Query(ctx context.Context, query string, args []any) ([]any, error)

	// Rows returns all rows of a result, which it reads to its end as Query does.
	Rows(ctx context.Context, query string, args []any) ([][]any, error)

	// Transact runs f in a transaction and commits it.
	Transact(ctx context.Context, f func(Conn) error) error
}

// pool is a Conn on a *sql.DB that belongs to the store. It repeats a transaction that the
// engine has rolled back in favour of another transaction.
type pool struct {
	db      *sql.DB
	dialect *dialect.Dialect
	random  Random

	write argWriter // nil if arguments are bound
}

func (p pool) Exec(ctx context.Context, query string, args []any) (changed int64, err error) {
	err = p.again(ctx, func() error {
		_, changed, err = exec(ctx, p.db, query, args, p.write, noID)
		return err
	})
	return changed, err
}

func (p pool) ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	err = p.again(ctx, func() error {
		id, changed, err = exec(ctx, p.db, query, args, p.write, sql.Result.LastInsertId)
		return err
	})
	return id, changed, err
}

func (p pool) Query(ctx context.Context, query string, args []any) (row []any, err error) {
	err = p.again(ctx, func() error {
		row, err = query1(ctx, p.db, query, args, p.write)
		return err
	})
	return row, err
}

func (p pool) Rows(ctx context.Context, query string, args []any) (all [][]any, err error) {
	err = p.again(ctx, func() error {
		all, err = rows(ctx, p.db, query, args, p.write)
		return err
	})
	return all, err
}

// Transact runs f in a transaction and commits it. It may run f several times.
func (p pool) Transact(ctx context.Context, f func(Conn) error) error {
	return p.again(ctx, func() error { return p.transactOnce(ctx, f) })
}

func (p pool) transactOnce(ctx context.Context, f func(Conn) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := f(transaction{tx, p.write}); err != nil {
		return err
	}
	return tx.Commit()
}

// transaction is a Conn in a *sql.Tx of a pool.
type transaction struct {
	tx    *sql.Tx
	write argWriter
}

func (t transaction) Exec(ctx context.Context, query string, args []any) (int64, error) {
	_, changed, err := exec(ctx, t.tx, query, args, t.write, noID)
	return changed, err
}

func (t transaction) ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	return exec(ctx, t.tx, query, args, t.write, sql.Result.LastInsertId)
}

func (t transaction) Query(ctx context.Context, query string, args []any) ([]any, error) {
	return query1(ctx, t.tx, query, args, t.write)
}

func (t transaction) Rows(ctx context.Context, query string, args []any) ([][]any, error) {
	return rows(ctx, t.tx, query, args, t.write)
}

func (t transaction) Transact(_ context.Context, f func(Conn) error) error { return f(t) }

// againTries is how often a statement or a transaction is tried while the engine rolls it
// back in favour of another transaction.
const againTries = 20

// IsRolledBack reports whether err means that the engine has rolled back a transaction in
// favour of another transaction, so that it may be tried again.
func IsRolledBack(d *dialect.Dialect, err error) bool {
	return err != nil && sqlcode.ClassOf(d, err) == dialect.ErrorTransaction
}

// again calls do, and repeats the call while the engine rolls back what do has done, so
// that nothing was changed. When three nodes of a Galera cluster change one row, two of
// the three transactions are rolled back.
func (p pool) again(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || !IsRolledBack(p.dialect, err) || try == againTries {
			return err
		}
		if Pause(ctx, p.random, try) != nil {
			return err // err is more specific than the context's error
		}
	}
}

// execer is implemented by *sql.DB and *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// noID is used instead of sql.Result.LastInsertId if the caller does not need the ID.
func noID(sql.Result) (int64, error) { return 0, nil }

func exec(ctx context.Context, e execer, query string, args []any, write argWriter, last func(sql.Result) (int64, error)) (id, changed int64, err error) {
	if write != nil {
		query, args = write(query, args)
	}
	res, err := e.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, 0, err
	}
	if id, err = last(res); err != nil {
		return 0, 0, err
	}
	changed, err = res.RowsAffected()
	return id, changed, err
}

func query1(ctx context.Context, q dbconn.Queryer, query string, args []any, write argWriter) ([]any, error) {
	if write != nil {
		query, args = write(query, args)
	}
	var row []any
	if err := dbconn.QueryPool(ctx, q, query, args, only(&row)); err != nil {
		return nil, err
	}
	return row, nil
}

func rows(ctx context.Context, q dbconn.Queryer, query string, args []any, write argWriter) ([][]any, error) {
	if write != nil {
		query, args = write(query, args)
	}
	var all [][]any
	err := dbconn.QueryPool(ctx, q, query, args, every(&all))
	return all, err
}

// every returns a function that appends each row of a result to all.
func every(all *[][]any) func([]any) error {
	return func(next []any) error {
		*all = append(*all, next)
		return nil
	}
}

// only returns a function that stores the only row of a result in row. It returns
// ErrRows for a second row.
func only(row *[]any) func([]any) error {
	return func(next []any) error {
		if *row != nil {
			return ErrRows
		}
		*row = next
		return nil
	}
}

// driverConn is a Conn on one connection of a driver.
type driverConn struct{ conn driver.Conn }

// openTx is a driverConn on which a transaction is open.
type openTx struct{ driverConn }

func (c openTx) Transact(_ context.Context, f func(Conn) error) error { return f(c) }

func (c driverConn) Transact(ctx context.Context, f func(Conn) error) error {
	tx, err := dbconn.Begin(ctx, c.conn)
	if err != nil {
		return err
	}
	if err := f(openTx{c}); err != nil {
		// Return the error of f, which is the cause of any error of the rollback.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (c driverConn) Exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := dbconn.Exec(ctx, c.conn, query, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c driverConn) ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	res, err := dbconn.Exec(ctx, c.conn, query, args)
	if err != nil {
		return 0, 0, err
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, 0, err
	}
	changed, err = res.RowsAffected()
	return id, changed, err
}

func (c driverConn) Query(ctx context.Context, query string, args []any) ([]any, error) {
	var row []any
	if err := dbconn.Query(ctx, c.conn, query, args, only(&row)); err != nil {
		return nil, err
	}
	return row, nil
}

func (c driverConn) Rows(ctx context.Context, query string, args []any) ([][]any, error) {
	var all [][]any
	err := dbconn.Query(ctx, c.conn, query, args, every(&all))
	return all, err
}
