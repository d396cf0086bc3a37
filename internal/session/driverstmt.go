package session

import (
	"context"
	"database/sql/driver"
	"errors"
)

// convertedStatement is a statement of a driver that checks no arguments, neither on the
// connection nor on the statement. Its arguments are converted as database/sql converts
// them for the driver alone.
type convertedStatement struct {
	driver.Stmt
	conn *driverConn
}

func (s convertedStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return ExecStmt(ctx, s.Stmt, args)
}

func (s convertedStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return QueryStmt(ctx, s.Stmt, args)
}

func (s convertedStatement) CheckNamedValue(nv *driver.NamedValue) error {
	return s.conn.convert(nv)
}

func (s convertedStatement) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(index)
	}
	return driver.DefaultParameterConverter
}

// plainValues returns the arguments for a driver without contexts, as database/sql does.
func plainValues(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i := range args {
		if args[i].Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = args[i].Value
	}
	return values, ctx.Err()
}

// NamedValues returns the arguments of a method without a context, such as
// driver.Execer.Exec, in the form that methods with a context have.
func NamedValues(args []driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}
