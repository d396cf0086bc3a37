package e2e_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/ngrok/sqlmw"
)

// spy notes the queries that pass another wrapper, in either direction of
// keyfill.
type spy struct {
	mu      sync.Mutex
	queries []string
}

func (s *spy) note(query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, query)
}

// take returns what was noted since it was called last, each text once.
func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.queries
	s.queries = nil
	slices.Sort(seen)
	return slices.Compact(seen)
}

// all returns everything that was noted and not taken.
func (s *spy) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// spyWrappers are the other wrappers, each with a spy in it.
var spyWrappers = []struct {
	name string
	wrap func(t *testing.T, c driver.Connector, s *spy) driver.Connector
}{
	{"otelsql", wrapOtelsql},
	{"sqlmw", wrapSqlmw},
}

// connectorDriver is a driver that opens one connector: these packages wrap
// drivers.
type connectorDriver struct{ connector driver.Connector }

func (d connectorDriver) OpenConnector(string) (driver.Connector, error) { return d.connector, nil }

func (d connectorDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("opened without a connector")
}

func wrapOtelsql(t *testing.T, c driver.Connector, s *spy) driver.Connector {
	t.Helper()
	d := otelsql.WrapDriver(connectorDriver{c}, otelsql.WithSpanNameFormatter(
		func(_ context.Context, method otelsql.Method, query string) string {
			if query != "" {
				s.note(query)
			}
			return string(method)
		}))
	return openDriver(t, d)
}

func wrapSqlmw(t *testing.T, c driver.Connector, s *spy) driver.Connector {
	t.Helper()
	return openDriver(t, sqlmw.Driver(connectorDriver{c}, &spyInterceptor{spy: s}))
}

func openDriver(t *testing.T, d driver.Driver) driver.Connector {
	t.Helper()
	c, err := d.(driver.DriverContext).OpenConnector("")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// spyInterceptor notes what sqlmw sees.
type spyInterceptor struct {
	sqlmw.NullInterceptor
	spy *spy
}

func (i *spyInterceptor) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	i.spy.note(query)
	return conn.ExecContext(ctx, query, args)
}

func (i *spyInterceptor) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	i.spy.note(query)
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

func (i *spyInterceptor) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	i.spy.note(query)
	stmt, err := conn.PrepareContext(ctx, query)
	return ctx, stmt, err
}

func (i *spyInterceptor) StmtExecContext(ctx context.Context, stmt driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	i.spy.note(query)
	return stmt.ExecContext(ctx, args)
}

func (i *spyInterceptor) StmtQueryContext(ctx context.Context, stmt driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	i.spy.note(query)
	rows, err := stmt.QueryContext(ctx, args)
	return ctx, rows, err
}

// asDriver is a connector that says that its driver is another: with it a spy
// below keyfill stays unseen.
type asDriver struct {
	driver.Connector
	driver driver.Driver
}

func (c asDriver) Driver() driver.Driver { return c.driver }
