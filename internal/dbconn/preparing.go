package dbconn

import (
	"context"
	"database/sql/driver"
	"strings"
)

// simpleRefused is the beginning of pgx's error, before it sends anything, for a query or a
// statement with arguments under the simple protocol, if standard_conforming_strings is off
// or the client's encoding is not UTF8. pgx does not use that protocol for a prepared
// statement.
const simpleRefused = "simple protocol queries must be run with "

// IsRefused reports whether err says that the driver has sent nothing, and that it would
// accept the statement if the statement were prepared.
func IsRefused(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), simpleRefused)
}

// preparing is a connection that returns driver.ErrSkip for a statement that its driver
// accepts only if it is prepared.
type preparing struct {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.NamedValueChecker
	execer  driver.ExecerContext
	queryer driver.QueryerContext
}

var (
	_ driver.ExecerContext      = (*preparing)(nil)
	_ driver.QueryerContext     = (*preparing)(nil)
	_ driver.ConnPrepareContext = (*preparing)(nil)
	_ driver.ConnBeginTx        = (*preparing)(nil)
	_ driver.NamedValueChecker  = (*preparing)(nil)
	_ driver.Pinger             = (*preparing)(nil)
	_ driver.SessionResetter    = (*preparing)(nil)
	_ driver.Validator          = (*preparing)(nil)
)

// Preparing returns a connection for database/sql that prepares what pgx refuses to send by
// the simple protocol. If c lacks an interface that pgx's connection has, Preparing returns
// c unchanged.
func Preparing(c driver.Conn) driver.Conn {
	p := &preparing{Conn: c}
	var ok [5]bool
	p.ConnPrepareContext, ok[0] = c.(driver.ConnPrepareContext)
	p.ConnBeginTx, ok[1] = c.(driver.ConnBeginTx)
	p.NamedValueChecker, ok[2] = c.(driver.NamedValueChecker)
	p.execer, ok[3] = c.(driver.ExecerContext)
	p.queryer, ok[4] = c.(driver.QueryerContext)
	if ok != [5]bool{true, true, true, true, true} {
		return c
	}
	return p
}

// ExecContext executes a statement.
func (p *preparing) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := p.execer.ExecContext(ctx, query, args)
	if IsRefused(err) {
		return nil, driver.ErrSkip
	}
	return res, err
}

// QueryContext executes a query.
func (p *preparing) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := p.queryer.QueryContext(ctx, query, args)
	if IsRefused(err) {
		return nil, driver.ErrSkip
	}
	return rows, err
}

// Ping pings the connection, if the driver can.
func (p *preparing) Ping(ctx context.Context) error {
	if c, ok := p.Conn.(driver.Pinger); ok {
		return c.Ping(ctx)
	}
	return nil
}

// ResetSession resets the session, if the driver can.
func (p *preparing) ResetSession(ctx context.Context) error {
	if c, ok := p.Conn.(driver.SessionResetter); ok {
		return c.ResetSession(ctx)
	}
	return nil
}

// IsValid reports whether the connection is valid; true if the driver cannot say it.
func (p *preparing) IsValid() bool {
	c, ok := p.Conn.(driver.Validator)
	return !ok || c.IsValid()
}
