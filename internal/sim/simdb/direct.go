package simdb

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/sim"
)

// Direct returns a connector whose statements take no time and meet no fault. It is for
// setting up a world before the run, and for statements that a process has executed before.
// No failover loses its changes.
func (c *Client) Direct() driver.Connector { return directConnector{c} }

type directConnector struct{ c *Client }

func (c directConnector) Connect(context.Context) (driver.Conn, error) { return direct(c), nil }
func (c directConnector) Driver() driver.Driver                        { return nil }

type direct struct{ c *Client }

var (
	_ driver.ExecerContext  = direct{}
	_ driver.QueryerContext = direct{}
)

func (direct) Prepare(string) (driver.Stmt, error) { return nil, errors.New("simdb: not prepared") }
func (direct) Begin() (driver.Tx, error)           { return directTx{}, nil }
func (direct) Close() error                        { return nil }

// directTx is a transaction whose statements are each committed at once.
type directTx struct{}

func (directTx) Commit() error   { return nil }
func (directTx) Rollback() error { return errors.New("simdb: what is done directly is not undone") }

func (c direct) do(ctx context.Context, query string, args []driver.NamedValue) (a answer, err error) {
	r := c.c.request(ctx, query, args)
	c.c.Process.World.Server.Edit(func(tx *sim.Tx) { a = r.run(tx) })
	return r.answered(a)
}

func (c direct) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	a, err := c.do(ctx, query, args)
	return result(a), err
}

func (c direct) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	a, err := c.do(ctx, query, args)
	return &rows{all: a.rows}, err
}
