// Package nulldriver is a driver that accepts everything at once and stores nothing, so
// that only the layers above it are measured.
package nulldriver

import (
	"context"
	"database/sql/driver"
	"io"
)

// Driver is the driver, and a connector of its connections.
type Driver struct {
	Skips bool // whether Exec with a text returns driver.ErrSkip, as in go-sql-driver/mysql
}

// Connect opens a connection.
func (d *Driver) Connect(context.Context) (driver.Conn, error) { return &conn{d.Skips}, nil }

// Driver returns the driver itself.
func (d *Driver) Driver() driver.Driver { return d }

// Open opens a connection.
func (d *Driver) Open(string) (driver.Conn, error) { return &conn{d.Skips}, nil }

// OpenConnector returns the driver itself.
func (d *Driver) OpenConnector(string) (driver.Connector, error) { return d, nil }

type conn struct{ skips bool }

func (c *conn) Prepare(string) (driver.Stmt, error) { return stmt{}, nil }
func (c *conn) Close() error                        { return nil }
func (c *conn) Begin() (driver.Tx, error)           { return tx{}, nil }
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return tx{}, nil
}
func (c *conn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return stmt{}, nil
}
func (c *conn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &tenRows{}, nil
}
func (c *conn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if c.skips {
		return nil, driver.ErrSkip
	}
	return result{}, nil
}

type tx struct{}

func (tx) Commit() error   { return nil }
func (tx) Rollback() error { return nil }

type stmt struct{}

func (stmt) Close() error                               { return nil }
func (stmt) NumInput() int                              { return -1 }
func (stmt) Exec([]driver.Value) (driver.Result, error) { return result{}, nil }
func (stmt) Query([]driver.Value) (driver.Rows, error)  { return &tenRows{}, nil }
func (stmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return result{}, nil
}
func (stmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return &tenRows{}, nil
}

// result is the result of an INSERT of one row whose key is 1.
type result struct{}

func (result) LastInsertId() (int64, error) { return 1, nil }
func (result) RowsAffected() (int64, error) { return 1, nil }

// tenRows are ten rows of five columns.
type tenRows struct{ read int }

var fiveColumns = []string{"a", "b", "c", "d", "e"}

func (r *tenRows) Columns() []string { return fiveColumns }
func (r *tenRows) Close() error      { return nil }
func (r *tenRows) Next(dest []driver.Value) error {
	if r.read++; r.read > 10 {
		return io.EOF
	}
	for i := range dest {
		dest[i] = int64(i)
	}
	return nil
}
