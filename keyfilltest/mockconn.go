package keyfilltest

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
)

// connector opens connections of the mock that has the DSN dsn.
type connector struct {
	driver driver.Driver
	dsn    string
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	m, ok := conn.(mock)
	if !ok {
		return nil, anchor.Last("keyfilltest", "keyfilltest: go-sqlmock's connection lacks a method: use version 1.5")
	}
	return mockConn{m}, nil
}

// mock is a connection of go-sqlmock, with the optional interfaces that it has.
type mock interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.NamedValueChecker
}

// mockConn is a connection of go-sqlmock that answers the questions of keyfill itself,
// so that a test need not expect them.
type mockConn struct{ mock }

// CountedRows returns how many rows the query of an INSERT … SELECT has. It makes
// mockConn an [explain.RowCounter].
func (mockConn) CountedRows() int64 { return 1 }
