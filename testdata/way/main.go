// Command way sends a statement four times through keyfill, and leaves what the last
// execution has run in $GOCOVERDIR: TestWay reads from that which files a statement
// passes through.
package main

import (
	"context"
	"database/sql/driver"
	"log"
	"os"
	"runtime/coverage"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// connector connects to a driver that takes every statement and does nothing with it.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return conn{}, nil }
func (c connector) Driver() driver.Driver                      { return nothing{} }

// nothing is a driver whose connections take every statement and do nothing with it.
type nothing struct{}

func (nothing) Open(string) (driver.Conn, error) { return conn{}, nil }

// conn is a connection that takes every statement.
type conn struct{}

func (conn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }

func (conn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

func main() {
	db, err := keyfill.OpenDB(connector{}, keyfill.Options{Policy: &policy.Config{
		Dialect: "mysql",
		Tables:  map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	// One connection, so that what database/sql does between two uses is not counted.
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	send := func() {
		if _, err := c.ExecContext(ctx, os.Args[1], "a"); err != nil {
			log.Fatal(err)
		}
	}
	// A text is remembered when it comes for the second time.
	for range 3 {
		send()
	}
	if err := coverage.ClearCounters(); err != nil {
		log.Fatal(err)
	}
	send()
	os.Exit(0) // which writes the counters, before anything is closed
}
