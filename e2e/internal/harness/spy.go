package harness

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

// Spy notes the queries that reach another driver wrapper, such as otelsql, around keyfill
// or inside of it.
type Spy struct {
	mu      sync.Mutex
	queries []string
}

// Note adds a query.
func (s *Spy) Note(query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, query)
}

// Take returns the queries that were noted since the last call of Take, each text once.
func (s *Spy) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.queries
	s.queries = nil
	slices.Sort(seen)
	return slices.Compact(seen)
}

// All returns everything that was noted and not taken.
func (s *Spy) All() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// SpyWrappers are driver wrappers other than keyfill, each with a spy in it.
var SpyWrappers = []struct {
	Name string
	Wrap func(t *testing.T, c driver.Connector, s *Spy) driver.Connector
}{
	{"otelsql", WrapOtelsql},
	{"sqlmw", WrapSqlmw},
}

// ConnectorDriver is a driver that opens one connector: it is needed because the packages
// otelsql and sqlmw wrap drivers, not connectors.
type ConnectorDriver struct{ Connector driver.Connector }

// OpenConnector returns the connector.
func (d ConnectorDriver) OpenConnector(string) (driver.Connector, error) { return d.Connector, nil }

// Open fails: the driver has only its connector.
func (d ConnectorDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("opened without a connector")
}

// WrapOtelsql puts otelsql around a connector, with a spy in it.
func WrapOtelsql(t *testing.T, c driver.Connector, s *Spy) driver.Connector {
	t.Helper()
	d := otelsql.WrapDriver(ConnectorDriver{c}, otelsql.WithSpanNameFormatter(
		func(_ context.Context, method otelsql.Method, query string) string {
			if query != "" {
				s.Note(query)
			}
			return string(method)
		}))
	return OpenDriver(t, d)
}

// WrapSqlmw puts sqlmw around a connector, with a spy in it.
func WrapSqlmw(t *testing.T, c driver.Connector, s *Spy) driver.Connector {
	t.Helper()
	return OpenDriver(t, sqlmw.Driver(ConnectorDriver{c}, &spyInterceptor{spy: s}))
}

// OpenDriver returns the connector of a driver that needs no DSN.
func OpenDriver(t *testing.T, d driver.Driver) driver.Connector {
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
	spy *Spy
}

func (i *spyInterceptor) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	i.spy.Note(query)
	return conn.ExecContext(ctx, query, args)
}

func (i *spyInterceptor) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	i.spy.Note(query)
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

func (i *spyInterceptor) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	i.spy.Note(query)
	stmt, err := conn.PrepareContext(ctx, query)
	return ctx, stmt, err
}

func (i *spyInterceptor) StmtExecContext(ctx context.Context, stmt driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	i.spy.Note(query)
	return stmt.ExecContext(ctx, args)
}

func (i *spyInterceptor) StmtQueryContext(ctx context.Context, stmt driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	i.spy.Note(query)
	rows, err := stmt.QueryContext(ctx, args)
	return ctx, rows, err
}

// AsDriver is a connector whose method Driver returns As, so that keyfill does not notice a
// spy between itself and the driver As.
type AsDriver struct {
	driver.Connector
	As driver.Driver
}

// Driver returns the field As.
func (c AsDriver) Driver() driver.Driver { return c.As }
