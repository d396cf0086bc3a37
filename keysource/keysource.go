// Package keysource makes primary keys.
//
// A [Source] hands out keys, all that one statement needs in one call, in the
// order in which the statement's rows get them and in the form in which a
// driver takes them. It knows neither SQL text nor drivers.
//
// Every source is safe for concurrent use and holds no lock while it waits.
//
// # Caveats
//
// UUIDs and ULIDs are unique by their random bits: 62 of 128 for uuidv7, 122
// for uuidv4, 80 for ulid and comb. Nothing is stored, so nothing can be
// checked; the primary key of the table is the last guard.
package keysource

import (
	"context"
	"database/sql/driver"
	"io"
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Source makes keys.
type Source interface {
	// Next returns r.N new keys, in the order in which the rows of the
	// statement get them. It fails when the context ends while it waits, when
	// the entropy or the state behind it fails, and when the source is
	// exhausted; then no key of the request has been handed out.
	Next(ctx context.Context, r Request) ([]driver.Value, error)

	// Traits says what the source promises. It does no I/O.
	Traits() Traits
}

// Request is what one statement wants of a source.
type Request struct {
	N      int            // how many keys, at least 1
	Layout dialect.Layout // how a 16-byte key, a text key or an integer is sent
	Scope  []driver.Value // the values that a scoped numbering starts from
	Conn   driver.Conn    // the statement's connection; nil for an autonomous source
}

// Traits are the promises of a source.
type Traits struct {
	Ordered    bool      // later keys of one process sort after earlier ones
	Contiguous bool      // the keys of one request are consecutive integers
	GapFree    bool      // no number is left out, whatever is rolled back
	Integer    bool      // keys are integers, else 16-byte keys or text
	Text       bool      // keys are text of their own alphabet, not UUIDs
	End        time.Time // when the source can make no more; zero: not in sight
}

// Env is where sources take time and entropy from. The zero value is the
// system's clock and crypto/rand.
type Env struct {
	Now  func() time.Time // must be safe for concurrent use
	Rand io.Reader        // must be safe for concurrent use
}
