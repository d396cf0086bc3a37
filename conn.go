package keyfill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
)

// conn is the connection that database/sql sees. Every text of a statement comes here
// first. A text that does not concern keyfill goes on to the driver's connection, and
// the driver's own Rows, Result or Stmt is returned. Any other text goes through sqlmw
// to the interceptor, which stores its result in the conn.
//
// A conn has every optional interface of a connection. If the driver lacks one,
// fill.Conn answers in such a way that database/sql goes on as it would without it.
type conn struct {
	*fill.Conn
	mw      intercepted
	concern words.Concern // why the text that is being passed through mw concerns keyfill
	answer  answer
}

// intercepted is a connection of sqlmw, which calls the interceptor.
type intercepted interface {
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
}

// answer is the interceptor's result for a text: a result, rows or a statement, or the
// error. The connection returns it once and forgets it.
type answer struct {
	result driver.Result
	rows   driver.Rows
	stmt   driver.Stmt
	err    error
}

var (
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.Execer             = (*conn)(nil)
	_ driver.Queryer            = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
)

func newConn(g *fill.Conn) *conn {
	c := &conn{Conn: g}
	c.mw = intercept(c)
	return c
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	concern, pass, counts := c.Conn.Passes(query)
	if pass {
		res, err := c.Conn.ExecPassed(ctx, query, args)
		if counts {
			c.Conn.CountPassed(ctx, err)
		}
		return res, err
	}
	if c.Conn.ExpectsSkip(ctx, session.ByExec, len(args)) {
		return nil, driver.ErrSkip
	}
	c.concern = concern
	if _, err := c.mw.ExecContext(ctx, query, args); err != errAnswered {
		return nil, err
	}
	res, err := c.answer.result, c.answer.err
	c.answer.result, c.answer.err = nil, nil
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	concern, pass, counts := c.Conn.Passes(query)
	if pass {
		rows, err := c.Conn.QueryPassed(ctx, query, args)
		if counts {
			c.Conn.CountPassed(ctx, err)
		}
		return rows, err
	}
	if c.Conn.ExpectsSkip(ctx, session.ByQuery, len(args)) {
		return nil, driver.ErrSkip
	}
	c.concern = concern
	if _, err := c.mw.QueryContext(ctx, query, args); err != errAnswered {
		return nil, err
	}
	rows, err := c.answer.rows, c.answer.err
	c.answer.rows, c.answer.err = nil, nil
	return rows, err
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	concern, pass, counts := c.Conn.Passes(query)
	if pass {
		stmt, err := c.Conn.PreparePassed(ctx, query)
		if counts && err == nil {
			c.Conn.CountPassed(ctx, nil)
		}
		return stmt, err
	}
	c.concern = concern
	if _, err := c.mw.PrepareContext(ctx, query); err != errAnswered {
		return nil, err
	}
	stmt, err := c.answer.stmt, c.answer.err
	c.answer.stmt, c.answer.err = nil, nil
	return stmt, err
}

// Exec supports callers that use the driver without contexts.
func (c *conn) Exec(query string, args []driver.Value) (driver.Result, error) {
	return c.ExecContext(context.Background(), query, session.NamedValues(args))
}

// Query supports callers that use the driver without contexts.
func (c *conn) Query(query string, args []driver.Value) (driver.Rows, error) {
	return c.QueryContext(context.Background(), query, session.NamedValues(args))
}

// Prepare supports callers that use the driver without contexts.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}
