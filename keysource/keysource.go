// Package keysource makes primary keys.
//
// A [Source] hands out keys, all that one statement needs in one call, in the
// order in which the statement's rows get them and in the form in which a
// driver takes them. It knows neither SQL text nor drivers.
//
// Every source is safe for concurrent use and holds no lock while it waits. The text of
// each error ends in the section of docs/errors.md that explains its cause and its cure.
//
// # Choosing one
//
//	           bits of time and of chance       two keys of one source
//	UUIDv7     60, of 1/4096 ms     62          the later one is greater
//	ULID       48, of 1 ms          80          the later one is greater
//	COMB       48, of 1 ms          80          greater by the millisecond
//	UUIDv4     none                 122         in random order
//	Snowflake  41, of 1 ms          none        the later one is greater
//	Sequence   none                 none        the later one is greater
//	Recycled   none                 none        mostly, but a series may be lower
//
// The last three are integers, of 64 bits or fewer, and the integers of one request are
// consecutive. They are unique because the processes share something: for a Snowflake, a
// worker's number that no other process has, and best a [Marker] that guards it; for a
// Sequence and a Recycled, a store that they share, its [Reserver] or [SeriesStore]. The
// others need nothing.
//
// A [Mapping] makes other keys of the integers of a Sequence or a Snowflake,
// as unique as those are:
//
//	Coprime       short text of a fixed length, in steps through all there is
//	Pseudorandom  integers of 31 bits, spread by Park and Miller's generator
//	Scatter       integers of 31, 53 or 63 bits, spread by a key of one's own
//	Composite     digits of a Snowflake: its worker, then its time in UTC
//
// A source is made once for each state and kept: the order of its keys lives in
// it and ends with it. The zero [Env] is right outside tests.
//
//	s := keysource.NewUUIDv7(keysource.Env{})
//	keys, err := s.Next(ctx, keysource.Request{N: len(rows), Layout: d.DefaultLayout})
//
// The keys of one request ascend in the order in which an index of the layout compares
// them, from every source except UUIDv4, and except for integers that are sent as text;
// [dialect.Layout] describes the forms. [Inspect] reads a key back.
//
// # Caveats
//
// UUIDs and ULIDs are unique by their random bits: 62 of 128 for uuidv7, 122
// for uuidv4, 80 for ulid and comb. Of these nothing is stored, so nothing can be
// checked; the primary key of the table is the last guard. The same holds for a store
// that loses its last commits, see [Sequence] and [Snowflake].
//
// A running process can be copied, as by the snapshot of a virtual machine that
// is started twice. The kernel gives each copy other random bytes (Linux with
// VM generation IDs). A UUIDv7 has its random bits made up to a millisecond
// before its time, and so the copies of a process that was making UUIDv7 in the
// millisecond of the snapshot can share those; their keys are equal if they are
// also of the same 1/4096 ms by clocks that were copied too. The other sources
// make none ahead.
//
// Keys of several processes are ordered as well as the processes' clocks are,
// and so are the keys of one process before and after a restart.
//
// Time-based keys reveal when they were made, and no key is a secret. For example, two
// ULIDs of one millisecond differ by 32 random bits and not by 80.
package keysource

import (
	"cmp"
	"context"
	"database/sql/driver"
	"io"
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Source makes keys.
type Source interface {
	// Next returns r.N new keys, in the order in which the rows of the statement get
	// them. It fails when the context ends while it waits, when the entropy or the state
	// that it uses fails, and when the source is exhausted; then no key of the request
	// has been handed out.
	Next(ctx context.Context, r Request) ([]driver.Value, error)

	// Append is Next for a caller that has room for the keys: it appends them,
	// as append does, and returns room as it was beside an error. It keeps
	// nothing of room.
	Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error)

	// Traits returns what the source promises. It does no I/O.
	Traits() Traits
}

// Source16 is a [Source] of 16-byte keys, for callers that want the bytes: it needs no
// allocation. The keys are the same as from Next, before the layout moves their bytes.
// They sort in the order of generation, and [dialect.Layout.Value] turns one into a value
// for a driver.
type Source16 interface {
	Source

	// Key16 returns one new key for a layout.
	Key16(ctx context.Context, l dialect.Layout) ([16]byte, error)

	// Append16 appends r.N new keys to room, as append does. It returns room as
	// it was beside an error.
	Append16(ctx context.Context, room [][16]byte, r Request) ([][16]byte, error)
}

// Request is one statement's request for keys.
type Request struct {
	N      int            // how many keys, at least 1
	Layout dialect.Layout // how a 16-byte key, a text key or an integer is sent
}

// Traits are the promises of a source.
type Traits struct {
	Ordered    bool      // later keys of one process sort after earlier ones
	Contiguous bool      // the keys of one request are consecutive integers
	Integer    bool      // keys are integers, else 16-byte keys or text
	Text       bool      // keys are text of their own alphabet, not UUIDs
	End        time.Time // when the source can make no more; zero: not in sight
}

// Env is where sources take time and entropy from, and how patient they are. The
// zero value is the system's clock, crypto/rand and ten seconds.
type Env struct {
	// Now returns the time; nil is the system's clock. A Now that is not nil must be safe
	// for concurrent use; it is called once by a constructor and once or more for each
	// request. Times with a monotonic reading, as time.Now returns them, let a source go
	// on at the right pace when the wall clock is set back.
	Now func() time.Time

	// Rand gives random bytes; nil is crypto/rand, which never fails but ends
	// the process (Go 1.24). For UUIDv7, and for the combs of a request of
	// several, ChaCha8 makes 64 random numbers of each 32 bytes of it. A Rand that is not nil must be safe for concurrent
	// use. It is read once for each request, by UUIDv4 once for each key, and
	// never ahead. An error of it, or its end, is [ErrEntropy].
	Rand io.Reader

	// StoreWait is how long a request waits for a store that does not answer, if
	// its context does not end before; 0 is ten seconds.
	StoreWait time.Duration

	// Waited is called after a request has waited for the store, whether it got keys or
	// not, with its context and the duration. It must be safe for concurrent use. It is
	// not called for a request whose keys are in memory, nor by a source on the
	// statements' connections. It may be nil.
	Waited func(ctx context.Context, d time.Duration)
}

// waited calls Waited.
func (e Env) waited() func(context.Context, time.Time) {
	return func(ctx context.Context, began time.Time) {
		if e.Waited != nil {
			e.Waited(ctx, time.Since(began))
		}
	}
}

// patience returns StoreWait, or ten seconds.
func (e Env) patience() time.Duration { return cmp.Or(e.StoreWait, defaultPatience) }
