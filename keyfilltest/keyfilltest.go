// Package keyfilltest helps applications to test, without a database, what they send
// through keyfill. [New] wraps a go-sqlmock connection, with keys that are the same in
// every run. A [Filler] turns the plain INSERT of the application into the text and the
// arguments that the mock gets.
//
//	options := keyfill.Options{Policy: cfg}
//	db, mock := keyfilltest.New(t, options)
//	query, args := keyfilltest.NewFiller(t, options).Fill("INSERT INTO orders (a) VALUES ($1)", 1)
//	mock.ExpectExec(query).WithArgs(args...).WillReturnResult(sqlmock.NewResult(0, 1))
//
// New compares queries byte for byte, since both matchers of go-sqlmock fold white space.
// [NewMatching] compares by another matcher, as by sqlmock.QueryMatcherRegexp, and [Open]
// wraps a mock with options of its own. [Clock] is a clock that stands still between
// steps.
//
// The mock gets the statements of the application and nothing else. keyfill asks it
// neither for the catalog nor for settings, and begins no transaction on it. Statements
// that the driver refuses without asking the engine are refused here too.
//
// # Caveats
//
// Keys that belong to a transaction (joined, maxplusone), leases of workers, and native
// sequences count from 1 here, as all integers do; a composite counts milliseconds.
//
// The query of an INSERT … SELECT counts as one row. An INSERT … SELECT whose UUIDs an
// engine would make is refused, since there is no engine to ask.
//
// go-sqlmock's statements do not say how many arguments they take, so it cannot
// show that a wrong number is an error of database/sql.
package keyfilltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/keysource"
)

// Start is the instant at which the clock of [New] stands unless the options
// have a clock: 2026-01-01 00:00:00 UTC.
var Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// New returns a database that fills keys and sends its statements to a mock, and the
// mock, whose expectations are compared byte for byte ([Exact]). If the options have no
// clock, entropy or Reservers, the clock stands at [Start], the entropy counts, and so
// do the integers of each state, from 1: the keys are the same in every run. The policy
// must name the dialect. The database is closed at the end of the test.
func New(t testing.TB, o keyfill.Options) (*sql.DB, sqlmock.Sqlmock) {
	t.Helper()
	return NewMatching(t, o, Exact)
}

// NewMatching is [New] for expectations that a matcher compares, as
// sqlmock.QueryMatcherRegexp does by regular expressions. regexp.QuoteMeta makes the
// expression of a query that a [Filler] returns.
func NewMatching(t testing.TB, o keyfill.Options, matcher sqlmock.QueryMatcher) (*sql.DB, sqlmock.Sqlmock) {
	t.Helper()
	// go-sqlmock finds a mock by its DSN, so each mock gets its own.
	dsn := "keyfilltest_" + uuid.NewString()
	inner, mock, err := sqlmock.NewWithDSN(dsn, sqlmock.QueryMatcherOption(matcher))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	// Close returns an error if the mock does not expect it, but the test need not expect
	// it.
	t.Cleanup(func() { _ = inner.Close() })
	return Open(t, o, dsn), mock
}

// Open returns a database that fills keys and sends its statements to the mock that
// sqlmock.NewWithDSN has made with this DSN, and with any options of go-sqlmock. The
// keys are as with [New]. The database is closed at the end of the test.
func Open(t testing.TB, o keyfill.Options, dsn string) *sql.DB {
	t.Helper()
	inner, err := sql.Open("sqlmock", dsn)
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	db, err := keyfill.OpenDB(connector{inner.Driver(), dsn}, fixed(o))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	t.Cleanup(func() {
		_ = db.Close()
		_ = inner.Close()
	})
	return db
}

// Exact matches a query that is equal byte for byte. It is for mocks that are opened
// without [New], by [Open].
var Exact sqlmock.QueryMatcher = sqlmock.QueryMatcherFunc(func(want, got string) error {
	if want != got {
		return anchor.Lastf("keyfilltest", "keyfilltest: the query is\n\t%q\nwant\n\t%q", got, want)
	}
	return nil
})

// Keys returns the first n keys that a database of [New] with the same options draws
// for a table, in the form in which they are bound, provided that nothing else is drawn
// before. If the options have entropy, Keys reads from it too, so that the keys differ.
func Keys(t testing.TB, o keyfill.Options, table string, n int) []driver.Value {
	t.Helper()
	db, err := keyfill.OpenDB(connector{}, fixed(o))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	defer db.Close()
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	keys, err := m.Keys(context.Background(), table, n)
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	return keys
}

// AssertSQL fails the test unless keyfill would send the query as want. It asks
// about an Exec of the text, without a prepared statement. Keys that are written
// into the text as literals are the keys that [Keys] returns.
func AssertSQL(t testing.TB, o keyfill.Options, query, want string) {
	t.Helper()
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, fixed(o))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	defer c.Close()
	e, err := explain.By(c).Explain(query)
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	if e.SQL != want {
		t.Errorf("%s:\n\t%q\nis sent as\n\t%q\nwant\n\t%q", e.Action, query, e.SQL, want)
	}
}

// fixed returns the options with a clock that stands still, entropy that counts and
// integers that count, for each of these that is not set.
func fixed(o keyfill.Options) keyfill.Options {
	if o.Now == nil {
		o.Now = NewClock(Start).Now
	}
	if o.Rand == nil {
		o.Rand = new(Entropy)
	}
	if o.Reservers == nil {
		o.Reservers = func(string) keysource.Reserver { return new(Counter) }
	}
	return o
}
