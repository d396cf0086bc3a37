package harness

import (
	"context"
	"database/sql/driver"
)

// Noting is a connector whose connections note the queries that they get.
type Noting struct {
	driver.Connector
	Spy *Spy
}

// Connect opens a connection that notes its queries.
func (c Noting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &notingConn{conn, c.Spy}, nil
}

// notingConn notes the queries of a connection. It has only the methods to prepare, to
// execute and to reset the session.
type notingConn struct {
	driver.Conn
	spy *Spy
}

func (c *notingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.spy.Note(query)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *notingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.spy.Note(query)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *notingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *notingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *notingConn) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := c.Conn.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return driver.ErrSkip
}

func (c *notingConn) ResetSession(ctx context.Context) error {
	if c, ok := c.Conn.(driver.SessionResetter); ok {
		return c.ResetSession(ctx)
	}
	return nil
}
