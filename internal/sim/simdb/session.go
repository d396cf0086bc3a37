package simdb

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/sim"
)

// On returns a connection to the file of a session. The connection has the transactions of
// the session.
func (c *Client) On(s *sim.Session) driver.Conn { return &file{c, s} }

type file struct {
	c *Client
	s *sim.Session
}

var (
	_ driver.ExecerContext  = (*file)(nil)
	_ driver.QueryerContext = (*file)(nil)
)

func (f *file) Prepare(string) (driver.Stmt, error) { return nil, errors.New("simdb: not prepared") }
func (f *file) Begin() (driver.Tx, error)           { return nil, errors.New("simdb: see sim.Transact") }
func (f *file) Close() error                        { return nil }

func (f *file) do(ctx context.Context, query string, args []driver.NamedValue) (answer, error) {
	r := f.c.request(ctx, query, args)
	a, err := sim.Write(ctx, f.s, r.run)
	if err != nil {
		return a, err
	}
	return r.answered(a)
}

func (f *file) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	a, err := f.do(ctx, query, args)
	return result(a), err
}

func (f *file) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	a, err := f.do(ctx, query, args)
	return &rows{all: a.rows}, err
}
