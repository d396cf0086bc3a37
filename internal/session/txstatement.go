//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only

package session

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/rewrite"
)

// controlling is a prepared statement that may begin or end a transaction, or give a
// table another name: what an execution of it has done is taken in, as that of a text.
type controlling struct {
	driver.Stmt
	session *Conn
	effect  rewrite.Transaction
	what    rewrite.Concern
}

var (
	_ driver.StmtExecContext   = (*controlling)(nil)
	_ driver.StmtQueryContext  = (*controlling)(nil)
	_ driver.NamedValueChecker = (*controlling)(nil)
	_ driver.ColumnConverter   = (*controlling)(nil)
)

// Controlling returns a prepared statement whose executions the transaction follows.
func (c *Conn) Controlling(stmt driver.Stmt, effect rewrite.Transaction, what rewrite.Concern) driver.Stmt {
	return &controlling{stmt, c, effect, what}
}

// run notes what an execution has ended in.
func (s *controlling) run(err error) { s.session.Ran(s.effect, s.what, err) }

func (s *controlling) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := ExecStmt(ctx, s.Stmt, args)
	s.run(err)
	return res, err
}

func (s *controlling) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := QueryStmt(ctx, s.Stmt, args)
	s.run(err)
	return rows, err
}

// Exec is for drivers' users of before contexts.
func (s *controlling) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), NamedValues(args))
}

// Query is for drivers' users of before contexts.
func (s *controlling) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), NamedValues(args))
}

// CheckNamedValue asks whom database/sql would ask: the driver's statement, else
// its connection, else nobody.
func (s *controlling) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return s.session.CheckNamedValue(nv)
}

// ColumnConverter is asked by the index of an argument.
func (s *controlling) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(index)
	}
	return driver.DefaultParameterConverter
}
