package keyfill

import (
	"context"
	"database/sql/driver"

	"github.com/ngrok/sqlmw"
)

// interceptor is the mount's place in sqlmw: it sees a statement before the
// driver does. It is the only file that knows sqlmw; all it decides, it asks of
// the mount.
type interceptor struct {
	sqlmw.NullInterceptor
	mount *Mount
}

// intercept puts the interceptor around c.
func intercept(c driver.Connector, m *Mount) (driver.Connector, error) {
	d := sqlmw.Driver(shim{c}, interceptor{mount: m})
	return d.(driver.DriverContext).OpenConnector("")
}

func (i interceptor) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	what := i.mount.concerns(query)
	if what == 0 {
		return conn.ExecContext(ctx, query, args)
	}
	return i.mount.execText(ctx, guardOf(conn), query, args, what)
}

func (i interceptor) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	what := i.mount.concerns(query)
	if what == 0 {
		rows, err := conn.QueryContext(ctx, query, args)
		return ctx, rows, err
	}
	// What sqlmw hands out is the same value for Exec and Query.
	rows, err := i.mount.queryText(ctx, guardOf(conn.(driver.ExecerContext)), query, args, what)
	return ctx, rows, err
}

func (i interceptor) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	what := i.mount.concerns(query)
	if what == 0 {
		stmt, err := conn.PrepareContext(ctx, query)
		return ctx, stmt, err
	}
	stmt, err := i.mount.prepareText(ctx, guardOf(conn.(driver.ExecerContext)), query, what)
	return ctx, stmt, err
}
