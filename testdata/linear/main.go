// Command linear measures what it costs to execute texts through keyfill, for
// TestLinear of the root package.
package main

import (
	"context"
	"database/sql/driver"
	"log"
	"log/slog"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/steps"
	"github.com/keyfill/keyfill/policy"
)

// question is a text to execute, whose tables have names that begin with t.
type question struct {
	Dialect string
	Text    steps.Text
}

// connector connects to a driver that takes every statement and does nothing with it.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return conn{}, nil }
func (connector) Driver() driver.Driver                        { return connector{} }
func (connector) Open(string) (driver.Conn, error)             { return conn{}, nil }

// conn is a connection that takes every statement.
type conn struct{}

func (conn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }

func (conn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // of each database that is opened
	if err := steps.Answer(func(q question) (steps.Text, func(string)) {
		return q.Text, func(text string) {
			if err := execute(q.Dialect, text); err != nil {
				log.Fatal(err)
			}
		}
	}); err != nil {
		log.Fatal(err)
	}
}

// execute executes a text on a database of its own.
func execute(name, text string) error {
	db, err := keyfill.OpenDB(connector{}, keyfill.Options{Policy: &policy.Config{
		Dialect: name,
		Tables:  map[string]policy.Table{"t*": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7}}},
	}})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), text)
	return err
}
