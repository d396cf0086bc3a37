// Package explain describes how keyfill would treat a query, without a database or on one:
// for the commands "keyfill explain" and "keyfill vet", for package keyfilltest and for the
// judge in package vet.
//
// It has the types of an explanation and the functions that return one. Package keyfill
// makes explanations, but does not export them: only tools of this project need them, and
// exported types could never change.
//
//	c, err := keyfill.WrapConnector(explain.NoDatabase{}, options)
//	ex, err := explain.By(c).Explain(query)
//
// With a database, keyfill decides as it would for an application on that database, but
// draws no key, counts no rows and writes nothing:
//
//	c, err := keyfill.WrapConnector(explain.Database{Connector: parent}, options)
//	x, err := explain.On(ctx, c)
//	ex, err := x.Explain(query)
package explain

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Explanation says how keyfill would treat a query. Its JSON form is the output of "keyfill
// explain" for machines: one object.
type Explanation struct {
	// Action is "refuse", "fill", "keep" or "pass": the first of these that applies to a
	// statement of the text.
	Action string `json:"action"`
	// SQL is the text that keyfill would send: the given query, with the keys that it fills.
	SQL string `json:"sql"`
	// Table is the table of the first statement with that action, as the policy matched it;
	// empty for pass.
	Table string `json:"table"`
	// Column is the table's key column; empty for pass.
	Column string `json:"column"`
	// Rows is the number of rows in VALUES; null if it is not known, as for a query (nil in Go).
	Rows *int `json:"rows"`
	// Slots are the places of the keys among the arguments; empty if the keys are literals. A
	// slot has arg, the index of the key among all arguments, from 1, and row, the index of
	// its row, from 1; row 0 stands for the first number of a query's rows. A slot has a
	// column if keyfill fills several columns, and a statement, from 1, if the text has
	// several INSERTs.
	Slots []Slot `json:"slots"`
	// Literal is true if the keys stand as literals in the text, not among the arguments.
	Literal bool `json:"literal"`
	// Reason is the cause of a refusal, or of keep if an argument's value decides it when the INSERT is executed.
	Reason string `json:"reason"`
	// Offset is the byte, from 0, at which the cause of the reason begins in the text; without
	// a reason, the byte at which the statement's verb begins.
	Offset int `json:"offset"`
	// End is the first day on which the table can get no more keys, in UTC, as in 2089-09-06:
	// the time bits of a snowflake or composite are used up. Empty for keys without such a
	// day.
	End string `json:"end,omitempty"`
	// Inserts are the INSERTs into configured tables, in their order, if the text has several:
	// each with action, table, column, rows, reason, offset and end. Outside of inserts, rows
	// is the sum of all, and the other fields are of the first INSERT.
	Inserts []Insert `json:"inserts,omitempty"`
	// Depends is a list of the facts that decide the outcome besides the text and the policy:
	// the version or a setting of the server, or the table. With a database, keyfill has asked
	// for these facts. Without a database, it assumes the newest version and a table for which
	// it refuses nothing.
	Depends string `json:"depends,omitempty"`
	// Numbers is the template of the number's text and the period after which numbers begin
	// again, if the policy has a format for the column.
	Numbers string `json:"numbers,omitempty"`
	// Made is the list of columns from which the key is computed, as in "from sender, no";
	// empty for other keys.
	Made string `json:"made,omitempty"`
	// Reads are the expressions in the text that ask the session for a number which keyfill
	// makes instead of the engine, such as lastval() and currval: they return the number of
	// another row.
	Reads []string `json:"reads,omitempty"`
}

// Insert says how keyfill would treat one of several INSERTs in a text. Its fields have the
// same meaning as in an Explanation.
type Insert struct {
	Action string `json:"action"`
	Table  string `json:"table"`
	Column string `json:"column"`
	Rows   *int   `json:"rows"`
	Reason string `json:"reason"`
	Offset int    `json:"offset"`
	End    string `json:"end,omitempty"`
	Made   string `json:"made,omitempty"`
}

// Slot is the place of one key among the arguments.
type Slot struct {
	Arg       int    `json:"arg"`                 // the index of the key in the final arguments, from 1
	Row       int    `json:"row"`                 // the index of the row, from 1; 0 for the number from which the rows of a query are numbered
	Statement int    `json:"statement,omitempty"` // the index in Inserts, from 1
	Column    string `json:"column,omitempty"`    // the column, if several are filled
}

// Explainer explains queries. Without a database the newest version of the engine is
// assumed. Keys are placed as for an Exec of the text, outside of a transaction, and the
// mode is ignored. It is safe for concurrent use. Explain fails if a source that makes a
// literal key fails, or a database does not answer.
type Explainer interface {
	Explain(query string) (Explanation, error)
}

// By returns the explainer of a connector of package keyfill. It panics for any other
// connector.
func By(c driver.Connector) Explainer { return c.Driver().(Explainer) }

// ByVersion is [By] for a version of the engine, given by its major and minor number.
func ByVersion(c driver.Connector, version [2]int) Explainer {
	return onVersion{c.Driver().(versioned), version}
}

// versioned explains queries for a version of the engine; two zeros mean the newest.
type versioned interface {
	ExplainOn(query string, version [2]int) (Explanation, error)
}

type onVersion struct {
	versioned
	version [2]int
}

func (o onVersion) Explain(query string) (Explanation, error) { return o.ExplainOn(query, o.version) }

// Database is the connector of a database on which queries are explained. Package keyfill
// asks that database, but opens no store of the policy, takes no worker's number, and fills
// nothing there.
type Database struct{ driver.Connector }

// OnDatabase explains queries on a connection. Close closes all connections to the database.
type OnDatabase interface {
	Explainer
	Close() error
}

// On returns the explainer of a connector that package keyfill has made of a [Database]. It
// panics for any other connector. The explainer's connection is read-only if the engine has
// such sessions.
func On(ctx context.Context, c driver.Connector) (OnDatabase, error) {
	return c.Driver().(interface {
		ExplainerOn(context.Context) (OnDatabase, error)
	}).ExplainerOn(ctx)
}

// NoDatabase is a driver, and its connector, that connects to nothing. Package keyfill
// opens no store for it and takes no worker's number, so that a policy can be explained
// even if its databases cannot be reached. The policy must name the dialect.
type NoDatabase struct{}

var errNoDatabase = anchor.Last("driver", "keyfill: there is no database to connect to: this connector only explains")

// Connect fails.
func (NoDatabase) Connect(context.Context) (driver.Conn, error) { return nil, errNoDatabase }

// Driver returns d itself, which is also a driver.
func (d NoDatabase) Driver() driver.Driver { return d }

// Open fails.
func (NoDatabase) Open(string) (driver.Conn, error) { return nil, errNoDatabase }

// RowCounter is a connection without a database, as in package keyfilltest. It returns how
// many rows the query of an INSERT … SELECT is assumed to have, since no engine can be
// asked.
type RowCounter interface{ CountedRows() int64 }
