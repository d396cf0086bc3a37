package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/ngrok/sqlmw"
)

// interceptor is what sqlmw calls for one connection, with the texts that concern
// keyfill. This is the only file that uses sqlmw. It decides nothing: fill.Conn does.
type interceptor struct {
	sqlmw.NullInterceptor
	conn *conn
}

// intercept returns a connection of sqlmw that calls the interceptor of c.
func intercept(c *conn) intercepted {
	mw, _ := sqlmw.Driver(opened{c}, interceptor{conn: c}).Open("") // the method Open of opened never fails
	return mw.(intercepted)
}

// opened is a driver that returns the connection conn, which is open already. It is needed
// because sqlmw wraps drivers only, not connections.
type opened struct{ conn *conn }

func (o opened) Open(string) (driver.Conn, error) { return o.conn, nil }

// errAnswered replaces every error on its way through sqlmw, so that sqlmw does not wrap
// the driver's error. The connection returns the driver's error as it is.
var errAnswered = errors.New("keyfill: the answer is the connection's")

func (i interceptor) ConnExecContext(ctx context.Context, _ driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	c := i.conn
	c.answer.result, c.answer.err = c.ExecText(ctx, query, args, c.concern)
	return nil, errAnswered
}

func (i interceptor) ConnQueryContext(ctx context.Context, _ driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	c := i.conn
	c.answer.rows, c.answer.err = c.QueryText(ctx, query, args, c.concern)
	return ctx, nil, errAnswered
}

func (i interceptor) ConnPrepareContext(ctx context.Context, _ driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	c := i.conn
	c.answer.stmt, c.answer.err = c.PrepareText(ctx, query, c.concern)
	return ctx, nil, errAnswered
}
