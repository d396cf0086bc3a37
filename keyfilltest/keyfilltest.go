// Package keyfilltest helps applications to test, without a database, what they
// send through keyfill. [New] puts a go-sqlmock connection behind the wrapper,
// with keys that are the same in every run; [Clock] is a clock that stands still
// until it is told to step.
//
//	options := keyfill.Options{Policy: cfg}
//	db, mock := keyfilltest.New(t, options)
//	key := keyfilltest.Keys(t, options, "orders", 1)[0]
//	mock.ExpectExec(`INSERT INTO orders (a, "id") VALUES ($1, $2)`).
//		WithArgs(1, key).
//		WillReturnResult(sqlmock.NewResult(0, 1))
//
// Queries are compared byte for byte: both matchers of go-sqlmock fold white
// space.
//
// # Caveats
//
// go-sqlmock's statements do not say how many arguments they take, so it cannot
// show that a wrong number is an error of database/sql.
package keyfilltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/keysource"
)

// Start is the instant at which the clock of [New] stands unless the options
// have a clock: 2026-01-01 00:00:00 UTC.
var Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// New returns a database that fills keys and sends its statements to a mock, and
// the mock. Where the options have no clock, entropy or stand-in for stores, the
// clock stands at [Start], the entropy counts, and so do the integers of each
// state, from 1: the keys are the same in every run. The policy must name the
// dialect. The database is closed at the end of the test.
func New(t testing.TB, o keyfill.Options) (*sql.DB, sqlmock.Sqlmock) {
	t.Helper()
	// go-sqlmock finds its mocks by name.
	dsn := "keyfilltest_" + uuid.NewString()
	inner, mock, err := sqlmock.NewWithDSN(dsn, sqlmock.QueryMatcherOption(Exact))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	db, err := keyfill.OpenDB(connector{inner.Driver(), dsn}, fixed(o))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	t.Cleanup(func() {
		// The mock may not expect to be closed; that is no business of a
		// clean-up.
		_ = db.Close()
		_ = inner.Close()
	})
	return db, mock
}

// Exact matches a query that is equal byte for byte, for mocks that are opened
// without [New].
var Exact sqlmock.QueryMatcher = sqlmock.QueryMatcherFunc(func(want, got string) error {
	if want != got {
		return fmt.Errorf("keyfilltest: the query is\n\t%q\nwant\n\t%q", got, want)
	}
	return nil
})

// Keys returns the first n keys that a database of [New] with the same options
// draws for a table, as they are bound, provided that nothing else is drawn
// before. Where the options have entropy, Keys reads from it too, so the two
// differ.
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

// fixed returns options with a clock that stands, entropy that counts and
// integers that count, where they have none.
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

// Counter is a [keysource.Reserver] without a database, for
// [keyfill.Options].Reservers: its integers count from 1. It is safe for
// concurrent use; the zero value is ready.
type Counter struct {
	mu   sync.Mutex
	used int64
}

// Reserve returns the next n integers. It never fails.
func (c *Counter) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used += n
	return keysource.Reservation{First: c.used - n + 1}, nil
}

// Advance leaves out the integers below to. It never fails.
func (c *Counter) Advance(_ context.Context, to int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = max(c.used, to-1)
	return nil
}

// Clock is a clock that stands still until it is told to step. [NewClock] makes
// one. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at the instant.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the time that the clock shows: the field Now of
// [keyfill.Options].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Step moves the clock by d, back where d is negative.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Entropy is an io.Reader of 64-bit big-endian numbers that count from 1. They
// are the same in every run, and no number comes twice in one run. Entropy is
// safe for concurrent use; the zero value is ready.
type Entropy struct {
	mu   sync.Mutex
	n    uint64
	rest []byte
}

// Read fills b and never fails.
func (e *Entropy) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at := 0; at < len(b); {
		if len(e.rest) == 0 {
			e.n++
			e.rest = binary.BigEndian.AppendUint64(e.rest, e.n)
		}
		n := copy(b[at:], e.rest)
		at += n
		e.rest = e.rest[n:]
	}
	return len(b), nil
}

// connector opens the mock of a DSN.
type connector struct {
	driver driver.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }
