// Package bench measures keyfill beside what it is compared with, in one run.
package bench

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// nullDriver executes everything at once and answers nothing, so that what is
// measured is the layers above it.
type nullDriver struct{}

func (d *nullDriver) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *nullDriver) Driver() driver.Driver                        { return d }
func (d *nullDriver) Open(string) (driver.Conn, error)             { return d, nil }
func (d *nullDriver) OpenConnector(string) (driver.Connector, error) {
	return d, nil
}
func (d *nullDriver) Prepare(string) (driver.Stmt, error) { return nullStmt{}, nil }
func (d *nullDriver) Close() error                        { return nil }
func (d *nullDriver) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }
func (d *nullDriver) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nullStmt{}, nil
}
func (d *nullDriver) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}
func (d *nullDriver) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

type nullStmt struct{}

func (nullStmt) Close() error  { return nil }
func (nullStmt) NumInput() int { return -1 }
func (nullStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.ResultNoRows, nil
}
func (nullStmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }
func (nullStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

// conns are connections to the null driver: raw, wrapped by sqlmw with an interceptor
// that does nothing, and wrapped by keyfill.
func conns(b *testing.B) map[string]driver.Conn {
	d := &nullDriver{}
	mw, err := sqlmw.Driver(d, sqlmw.NullInterceptor{}).(driver.DriverContext).OpenConnector("")
	if err != nil {
		b.Fatal(err)
	}
	kf, err := keyfill.WrapConnector(d, keyfill.Options{
		Policy: &policy.Config{
			Dialect: "postgres",
			Tables: map[string]policy.Table{
				"orders":   {Column: "id"},
				"invoices": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence}},
			},
		},
		Reservers: func(string) keysource.Reserver { return new(counter) },
	})
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]driver.Conn{}
	for name, c := range map[string]driver.Connector{"raw": d, "sqlmw": mw, "keyfill": kf} {
		if all[name], err = c.Connect(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	return all
}

// counter is a store in memory.
type counter struct{ used atomic.Int64 }

func (c *counter) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: c.used.Add(n) - n + 1}, nil
}

func (c *counter) Advance(context.Context, int64) error { return nil }

var args = []driver.NamedValue{
	{Ordinal: 1, Value: int64(1)},
	{Ordinal: 2, Value: "a name"},
	{Ordinal: 3, Value: "a street and a town"},
	{Ordinal: 4, Value: int64(12345)},
}

var queries = []struct{ name, text string }{
	{"select", "SELECT id, customer, street, amount FROM orders WHERE customer = $1 AND street = $2 ORDER BY amount LIMIT 10"},
	{"insert-passed", "INSERT INTO elsewhere (customer, name, street, amount) VALUES ($1, $2, $3, $4)"},
	{"insert-filled", "INSERT INTO orders (customer, name, street, amount) VALUES ($1, $2, $3, $4)"},
	{"insert-numbered", "INSERT INTO invoices (customer, name, street, amount) VALUES ($1, $2, $3, $4)"},
}

// BenchmarkExec is one Exec with four arguments on a connection: the price of
// each layer, without database/sql.
func BenchmarkExec(b *testing.B) {
	all := conns(b)
	for _, q := range queries {
		for _, layer := range []string{"raw", "sqlmw", "keyfill"} {
			b.Run(q.name+"/"+layer, func(b *testing.B) {
				c := all[layer].(driver.ExecerContext)
				ctx := context.Background()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.ExecContext(ctx, q.text, args); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkStmtExec is the same through a statement that is prepared once.
func BenchmarkStmtExec(b *testing.B) {
	all := conns(b)
	for _, q := range queries {
		for _, layer := range []string{"raw", "sqlmw", "keyfill"} {
			b.Run(q.name+"/"+layer, func(b *testing.B) {
				s, err := all[layer].(driver.ConnPrepareContext).PrepareContext(context.Background(), q.text)
				if err != nil {
					b.Fatal(err)
				}
				ctx := context.Background()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.(driver.StmtExecContext).ExecContext(ctx, args); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
