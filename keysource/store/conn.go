package store

//lint:file-ignore SA1019 drivers may have nothing but what is deprecated

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"slices"
)

// conn is where the statements of a store run.
type conn interface {
	// exec returns how many rows a statement has changed.
	exec(ctx context.Context, query string, args []any) (int64, error)

	// query returns the only row of an answer, nil when there is none. It has
	// then read the answer to its end: what the engine says last, such as
	// that the commit has failed, is an error and not a row.
	query(ctx context.Context, query string, args []any) ([]any, error)

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

func (t transaction) transact(_ context.Context, f func(conn) error) error { return f(t) }

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func exec(ctx context.Context, e execer, query string, args []any) (int64, error) {
	res, err := e.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func query1(ctx context.Context, q queryer, query string, args []any) ([]any, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var row []any
	for rows.Next() {
		if row != nil {
			return nil, ErrRows
		}
		row = make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return row, rows.Close()
}

// driverConn is a connection of a driver. What database/sql would do between a
// caller and a driver is done here, for arguments that are integers, texts and
// sql.Out, and for drivers of every strength.
type driverConn struct{ conn driver.Conn }

// openTx is a connection on which a transaction is open.
type openTx struct{ driverConn }

func (c openTx) transact(_ context.Context, f func(conn) error) error { return f(c) }

func (c driverConn) transact(ctx context.Context, f func(conn) error) error {
	tx, err := c.begin(ctx)
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

func (c driverConn) begin(ctx context.Context) (driver.Tx, error) {
	if b, ok := c.conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, driver.TxOptions{})
	}
	return c.conn.Begin()
}

func (c driverConn) exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := c.execDirectly(ctx, query, args)
	if err == driver.ErrSkip {
		res, err = withStmt(ctx, c, query, args, execStmt)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c driverConn) query(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := c.queryDirectly(ctx, query, args)
	if err == driver.ErrSkip {
		row, err = withStmt(ctx, c, query, args, queryStmt)
	}
	return row, err
}

// execDirectly answers ErrSkip where the driver, or its connection, wants the
// statement to be prepared.
func (c driverConn) execDirectly(ctx context.Context, query string, args []any) (driver.Result, error) {
	switch d := c.conn.(type) {
	case driver.ExecerContext:
		named, err := c.check(args, nil)
		if err != nil {
			return nil, err
		}
		return d.ExecContext(ctx, query, named)
	case driver.Execer:
		plain, err := c.checkPlain(ctx, args, nil)
		if err != nil {
			return nil, err
		}
		return d.Exec(query, plain)
	}
	return nil, driver.ErrSkip
}

// queryDirectly is as execDirectly.
func (c driverConn) queryDirectly(ctx context.Context, query string, args []any) ([]any, error) {
	switch d := c.conn.(type) {
	case driver.QueryerContext:
		named, err := c.check(args, nil)
		if err != nil {
			return nil, err
		}
		return readRow(d.QueryContext(ctx, query, named))
	case driver.Queryer:
		plain, err := c.checkPlain(ctx, args, nil)
		if err != nil {
			return nil, err
		}
		return readRow(d.Query(query, plain))
	}
	return nil, driver.ErrSkip
}

// withStmt prepares a statement, uses it once and closes it.
func withStmt[T any](ctx context.Context, c driverConn, query string, args []any,
	use func(context.Context, driverConn, driver.Stmt, []any) (T, error)) (result T, err error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return result, err
	}
	result, err = use(ctx, c, stmt, args)
	if closeErr := stmt.Close(); err == nil {
		err = closeErr
	}
	return result, err
}

func (c driverConn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.conn.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	stmt, err := c.conn.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	return stmt, err
}

func execStmt(ctx context.Context, c driverConn, stmt driver.Stmt, args []any) (driver.Result, error) {
	if s, ok := stmt.(driver.StmtExecContext); ok {
		named, err := c.check(args, stmt)
		if err != nil {
			return nil, err
		}
		return s.ExecContext(ctx, named)
	}
	plain, err := c.checkPlain(ctx, args, stmt)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(plain)
}

func queryStmt(ctx context.Context, c driverConn, stmt driver.Stmt, args []any) ([]any, error) {
	if s, ok := stmt.(driver.StmtQueryContext); ok {
		named, err := c.check(args, stmt)
		if err != nil {
			return nil, err
		}
		return readRow(s.QueryContext(ctx, named))
	}
	plain, err := c.checkPlain(ctx, args, stmt)
	if err != nil {
		return nil, err
	}
	return readRow(stmt.Query(plain))
}

// check returns the arguments as the driver wants them. It asks the statement,
// if there is one, then the connection, then the statement's converters, as
// database/sql does.
func (c driverConn) check(args []any, stmt driver.Stmt) ([]driver.NamedValue, error) {
	checker, ok := stmt.(driver.NamedValueChecker)
	if !ok {
		checker, _ = c.conn.(driver.NamedValueChecker)
	}
	converter, _ := stmt.(driver.ColumnConverter)
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
		err := driver.ErrSkip
		if checker != nil {
			err = checker.CheckNamedValue(&named[i])
		}
		if err == driver.ErrSkip {
			// What is left is of the types that every driver takes.
			err = nil
			if converter != nil {
				named[i].Value, err = converter.ColumnConverter(i).ConvertValue(arg)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// checkPlain is check for drivers without contexts.
func (c driverConn) checkPlain(ctx context.Context, args []any, stmt driver.Stmt) ([]driver.Value, error) {
	named, err := c.check(args, stmt)
	if err != nil {
		return nil, err
	}
	plain := make([]driver.Value, len(named))
	for i := range named {
		plain[i] = named[i].Value
	}
	return plain, ctx.Err()
}

// readRow reads the only row of an answer.
func readRow(rows driver.Rows, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	row, err := firstRow(rows)
	if closeErr := rows.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

func firstRow(rows driver.Rows) (row []any, err error) {
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(dest)
		switch {
		case err == io.EOF:
			return row, nil
		case err != nil:
			return nil, err
		case row != nil:
			return nil, ErrRows
		}
		row = make([]any, len(dest))
		for i, v := range dest {
			if b, ok := v.([]byte); ok {
				v = slices.Clone(b) // the driver's own until the next Next
			}
			row[i] = v
		}
	}
}
