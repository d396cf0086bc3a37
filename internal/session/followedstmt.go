package session

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// followedStmt is a prepared statement that may begin or end a transaction, or rename a
// table. Each of its executions is noted, as the execution of a text is.
type followedStmt struct {
	driver.Stmt
	session *Conn
	effect  effects.Transaction
	what    words.Concern
}

var (
	_ driver.StmtExecContext   = (*followedStmt)(nil)
	_ driver.StmtQueryContext  = (*followedStmt)(nil)
	_ driver.NamedValueChecker = (*followedStmt)(nil)
	_ driver.ColumnConverter   = (*followedStmt)(nil)
)

// FollowStmt returns a prepared statement that notes how its executions change the
// transaction.
func (c *Conn) FollowStmt(stmt driver.Stmt, effect effects.Transaction, what words.Concern) driver.Stmt {
	return &followedStmt{stmt, c, effect, what}
}

// run notes the end of an execution. err is nil if it has succeeded.
func (s *followedStmt) run(err error) { s.session.NoteRan(s.effect, s.what, err) }

func (s *followedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := ExecStmt(ctx, s.Stmt, args)
	s.run(err)
	return res, err
}

func (s *followedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := QueryStmt(ctx, s.Stmt, args)
	s.run(err)
	return rows, err
}

// Exec is [followedStmt.ExecContext] for callers that use driver.Stmt without contexts.
func (s *followedStmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), NamedValues(args))
}

// Query is [followedStmt.QueryContext] for callers that use driver.Stmt without contexts.
func (s *followedStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), NamedValues(args))
}

// CheckNamedValue lets the driver's statement check an argument, or else the driver's
// connection, as database/sql does.
func (s *followedStmt) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return s.session.CheckNamedValue(nv)
}

// ColumnConverter returns the driver's converter for the argument with the given index, or
// the default one if the driver has none.
func (s *followedStmt) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(index)
	}
	return driver.DefaultParameterConverter
}
