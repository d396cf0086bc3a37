package figures

import (
	"context"
	"database/sql/driver"
	"io"
)

// nullDriver takes everything at once and stores nothing, so that only the layers
// above it are measured.
type nullDriver struct {
	skips bool // Exec with a text answers driver.ErrSkip, as go-sql-driver/mysql does
}

func (d *nullDriver) Connect(context.Context) (driver.Conn, error)   { return &nullConn{d.skips}, nil }
func (d *nullDriver) Driver() driver.Driver                          { return d }
func (d *nullDriver) Open(string) (driver.Conn, error)               { return &nullConn{d.skips}, nil }
func (d *nullDriver) OpenConnector(string) (driver.Connector, error) { return d, nil }

type nullConn struct{ skips bool }

func (c *nullConn) Prepare(string) (driver.Stmt, error) { return nullStmt{}, nil }
func (c *nullConn) Close() error                        { return nil }
func (c *nullConn) Begin() (driver.Tx, error)           { return nullTx{}, nil }
func (c *nullConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return nullTx{}, nil
}
func (c *nullConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nullStmt{}, nil
}
func (c *nullConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &tenRows{}, nil
}
func (c *nullConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if c.skips {
		return nil, driver.ErrSkip
	}
	return nullResult{}, nil
}

type nullTx struct{}

func (nullTx) Commit() error   { return nil }
func (nullTx) Rollback() error { return nil }

type nullStmt struct{}

func (nullStmt) Close() error                               { return nil }
func (nullStmt) NumInput() int                              { return -1 }
func (nullStmt) Exec([]driver.Value) (driver.Result, error) { return nullResult{}, nil }
func (nullStmt) Query([]driver.Value) (driver.Rows, error)  { return &tenRows{}, nil }
func (nullStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return nullResult{}, nil
}
func (nullStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return &tenRows{}, nil
}

// nullResult is the result of an INSERT of one row whose key is 1.
type nullResult struct{}

func (nullResult) LastInsertId() (int64, error) { return 1, nil }
func (nullResult) RowsAffected() (int64, error) { return 1, nil }

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
