package session

import (
	"context"
	"database/sql/driver"
	"errors"
)

// Route says by which method of a driver's connection a text and its arguments are sent.
type Route uint8

// The routes: Exec and Query, each with a context or without.
const (
	ByExec Route = iota
	ByQuery
)

// driverConn is the driver's connection, which is called as database/sql would call it.
// Its capabilities are found out once, since every statement needs them. An interface
// that the connection lacks is nil.
type driverConn struct {
	Raw     driver.Conn
	own     *ownConn // the connection for keyfill's own statements; nil if they go to Raw
	discard bool     // whether database/sql is to close the connection

	preparer  driver.ConnPrepareContext
	execer    driver.ExecerContext
	queryer   driver.QueryerContext
	checker   driver.NamedValueChecker
	resetter  driver.SessionResetter
	validator driver.Validator

	Can [2]bool // by Route, whether it has the route's method, with a context or without

	// converts is true if a statement of the connection has had a ColumnConverter.
	converts bool

	Skips [2]skipping // how often the driver has answered ErrSkip, by Route
}

// newDriverConn returns a connection with its capabilities.
func newDriverConn(conn driver.Conn) driverConn {
	c := driverConn{Raw: conn}
	c.preparer, _ = conn.(driver.ConnPrepareContext)
	c.execer, c.Can[ByExec] = conn.(driver.ExecerContext)
	c.queryer, c.Can[ByQuery] = conn.(driver.QueryerContext)
	if native, ok := conn.(NativeConn); ok {
		c.execer, c.queryer = native.Texts()
	}
	c.checker, _ = conn.(driver.NamedValueChecker)
	c.resetter, _ = conn.(driver.SessionResetter)
	c.validator, _ = conn.(driver.Validator)
	_, exec := conn.(driver.Execer)
	_, query := conn.(driver.Queryer)
	c.Can[ByExec], c.Can[ByQuery] = c.Can[ByExec] || exec, c.Can[ByQuery] || query
	return c
}

// PrepareQuiet prepares a text as database/sql does. It notes nothing, since [IsQuiet] is
// true for the text, or [Conn.PrepareContext] has noted it. If neither the connection nor
// the statement checks arguments, it wraps the statement in one that does.
func (c *driverConn) PrepareQuiet(ctx context.Context, query string) (driver.Stmt, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	var stmt driver.Stmt
	var err error
	if c.preparer != nil {
		stmt, err = c.preparer.PrepareContext(ctx, query)
	} else if stmt, err = c.Raw.Prepare(query); err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	if err != nil || c.checker != nil {
		return stmt, err
	}
	if !c.converts {
		_, c.converts = stmt.(driver.ColumnConverter)
	}
	if _, checks := stmt.(driver.NamedValueChecker); !checks && c.preparesAll() {
		return convertedStatement{stmt, c}, nil
	}
	return stmt, nil
}

// ExecStmt executes a driver's prepared statement as database/sql does.
func ExecStmt(ctx context.Context, stmt driver.Stmt, args []driver.NamedValue) (driver.Result, error) {
	if s, ok := stmt.(driver.StmtExecContext); ok {
		return s.ExecContext(ctx, args)
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(values)
}

// QueryStmt executes a driver's prepared query as database/sql does.
func QueryStmt(ctx context.Context, stmt driver.Stmt, args []driver.NamedValue) (driver.Rows, error) {
	if s, ok := stmt.(driver.StmtQueryContext); ok {
		return s.QueryContext(ctx, args)
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return stmt.Query(values)
}

// BeginDriver begins a transaction as database/sql does. The session does not note it.
func (c *driverConn) BeginDriver(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	if b, ok := c.Raw.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("sql: driver does not support non-default isolation level")
	}
	if opts.ReadOnly {
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	tx, err := c.Raw.Begin()
	if err == nil && ctx.Err() != nil {
		_ = tx.Rollback()
		return nil, ctx.Err()
	}
	return tx, err
}
