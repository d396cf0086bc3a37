package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// printer stands for a database's driver in the examples: it prints what it is sent,
// and every INSERT stores one row.
type printer struct{}

func init() { sql.Register("printer", printer{}) }

func (printer) Open(string) (driver.Conn, error)             { return printer{}, nil }
func (printer) Connect(context.Context) (driver.Conn, error) { return printer{}, nil }
func (printer) Driver() driver.Driver                        { return printer{} }
func (printer) Begin() (driver.Tx, error)                    { return printer{}, nil }
func (printer) Commit() error                                { return nil }
func (printer) Rollback() error                              { return nil }
func (printer) Close() error                                 { return nil }

func (printer) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("the examples prepare nothing")
}

func (printer) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	fmt.Println(query)
	for _, a := range args {
		fmt.Println("  ", a.Value)
	}
	return driver.RowsAffected(1), nil
}

// options returns options whose keys are the same in every run. A program needs the
// policy alone, or not even that where it has a file.
func options(text string) keyfill.Options {
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return keyfill.Options{
		Policy:    cfg,
		Now:       func() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) },
		Rand:      new(counting),
		Reservers: func(string) keysource.Reserver { return new(counting) },
	}
}

// counting stands for entropy and for a store: its numbers count from 1.
type counting struct{ last atomic.Int64 }

func (c *counting) Read(b []byte) (int, error) {
	clear(b)
	for i := 7; i < len(b); i += 8 {
		b[i] = byte(c.last.Add(1))
	}
	return len(b), nil
}

func (c *counting) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: c.last.Add(n) - n + 1}, nil
}

func (c *counting) Advance(context.Context, int64) error { return nil }

// The policies of the examples.
const (
	uuids    = "version: 1\ndialect: postgres\ntables: {orders: {column: id}}"
	integers = "version: 1\ndialect: sqlite\ntables: {orders: {column: id, source: sequence}}"
)
