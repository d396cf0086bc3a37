// Package keysource makes primary keys, and defines the stores of sources that count.
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
//	snowflake  41, of 1 ms          none        the later one is greater
//	sequence   none                 none        the later one is greater
//	recycled   none                 none        mostly, but a series may be lower
//
// The last three are integers, of 64 bits or fewer, and the integers of one request are
// consecutive. They are unique because the processes share something: for a snowflake, a
// worker's number that no other process has, and best a [Marker] that guards it; for a
// sequence and a recycled source, a store that they share, its [Reserver] or
// [SeriesStore]. keyfill makes these three from its policy; a snowflake without a store
// can be had from policy.NewSource too. The others need nothing, and are made here.
//
// A [Mapping] makes other keys of the integers of a sequence or a snowflake,
// as unique as those are:
//
//	Coprime       short text of a fixed length, in steps through all there is
//	Pseudorandom  integers of 31 bits, spread by Park and Miller's generator
//	Scatter       integers of 31, 53 or 63 bits, spread by a key of one's own
//	Composite     digits of a snowflake: its worker, then its time in UTC
//
// A program makes each source once and keeps it: the promised order holds between keys
// of one source value only. The zero [Env] is right outside tests.
//
//	s := keysource.NewUUIDv7(keysource.Env{})
//	keys, err := s.Next(ctx, keysource.Request{N: len(rows), Layout: d.DefaultLayout})
//
// The keys of one request ascend in the order in which an index of the layout compares
// them, from every source except UUIDv4, and except for integers that are sent as text;
// [dialect.Layout] describes the forms. [Inspect] reads a key back.
//
// # Writing a store
//
// A [StoreDriver] opens a [Store], which keeps the states of sources in a database
// without SQL. Sources call the values that it returns: a [Reserver] for a sequence, a
// [SeriesStore] for a recycled source, a [Marker] for a snowflake.
//
// # Caveats
//
// UUIDs and ULIDs are unique by their random bits: 62 of 128 for uuidv7, 122 for
// uuidv4, 80 for ulid and comb. No record of them is kept, so nothing can be checked;
// the primary key of the table is the last guard. The same holds for a store that loses
// its last commits: keys that it forgets are given again.
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

//row:changes | a new source | `keysource`, or `internal/counting` if it has a state; `policy/kind.go`, a file in `policy` listed in `kinds.go`; with a state files in `internal/keys/numbering` and `internal/keys/counter`, and a case in `making.go` there

import (
	"context"
	"database/sql/driver"
	"io"
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Source makes keys.
type Source interface {
	// Next returns r.N new keys, in the order in which the rows of the statement get
	// them. It fails when the context ends while it waits, when its random numbers or
	// its store fail, and when the source is exhausted; then no key of the request has
	// been handed out.
	Next(ctx context.Context, r Request) ([]driver.Value, error)

	// Append appends r.N new keys to room, as the built-in append does. If it fails, it
	// returns room as it was. It keeps no reference to room.
	Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error)

	// Traits returns what the source promises. It does no I/O.
	Traits() Traits
}

// Source16 is a [Source] of 16-byte keys, for callers that want the bytes without an
// allocation. The keys are the same as from Next, before the layout moves their bytes:
// they sort in the order of generation. [dialect.Layout.Value] turns a key into a value
// for a driver.
type Source16 interface {
	Source

	// Key16 returns one new key for a layout.
	Key16(ctx context.Context, l dialect.Layout) ([16]byte, error)

	// Append16 appends r.N new keys to room, as the built-in append does. If it fails,
	// it returns room as it was.
	Append16(ctx context.Context, room [][16]byte, r Request) ([][16]byte, error)
}

// Request is one statement's request for keys.
type Request struct {
	N      int            // how many keys, at least 1
	Layout dialect.Layout // how a 16-byte key, a text key or an integer is sent
}

// Traits are the promises of a source.
type Traits struct {
	Ordered    bool      // later keys of one source sort after earlier ones
	Contiguous bool      // the keys of one request are consecutive integers
	Integer    bool      // keys are integers; otherwise they are 16-byte keys or text
	Text       bool      // keys are text of their own alphabet, not UUIDs
	End        time.Time // from when on the source can make no keys; the zero Time if there is no such time
}

// Env holds the clock, the random numbers and the longest wait of sources, so that tests
// can replace them. The zero value means the system's clock, crypto/rand and ten seconds.
type Env struct {
	// Now returns the time; nil means the system's clock. A Now that is not nil must be
	// safe for concurrent use; it is called once by a constructor and once or more for
	// each request. If its times have a monotonic reading, as time.Now's have, a source
	// goes on at the right pace when the wall clock is set back.
	Now func() time.Time

	// Rand gives random bytes; nil means crypto/rand, which never fails but ends the
	// process (Go 1.24). Of each 32 bytes of crypto/rand, ChaCha8 makes 64 random
	// numbers for UUIDv7, and for combs if a request is for several. A Rand that is not
	// nil must be safe for concurrent use. It is read once for each request, by UUIDv4
	// once for each key, and never ahead. If it fails or ends, a request fails with
	// [ErrEntropy].
	Rand io.Reader

	// StoreWait is how long a request waits for a store that does not answer, if its
	// context does not end before. Zero means ten seconds.
	StoreWait time.Duration

	// Waited is called after a request has waited for the store, whether it got keys or
	// not, with its context and the duration. It must be safe for concurrent use. It is
	// not called for a request whose keys are in memory, nor by a source that reserves
	// on the statements' connections. It may be nil.
	Waited func(ctx context.Context, d time.Duration)
}
