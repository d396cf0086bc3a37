package policy

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// sourceNamePattern matches the name of a source. A name has no dot, so that
// no name is also the name of a table's own state.
const sourceNamePattern = `^[A-Za-z0-9_-]+$`

var sourceName = regexp.MustCompile(sourceNamePattern)

// CreateRow reports whether a missing row of a sequence is made: Create decides, and
// EnsureSchema where Create is nil.
func (s Source) CreateRow() bool {
	if s.Create != nil {
		return *s.Create
	}
	return s.EnsureSchema
}

// KeyTable is an existing table that holds the states of sources, as other
// programs have made it and still use it. Its names are written as in SQL.
type KeyTable struct {
	Name    string
	Key     string // the column that names the source of a row; "" when the table has one row
	Row     string // the value of Key; empty means the name of the state
	Value   string // the column of the number; of a coprime, of the last key as one
	Stored  string // [StoredNext] or [StoredLast]
	Version string // the column that counts changes, for [LockOptimistic]; empty if there is no such column
}

// Scope are one or more columns. A pointer to it keeps [Source] comparable:
// Scope: &policy.Scope{{Column: "order_id"}}.
type Scope []ScopeColumn

// ScopeColumn is a column within whose values rows are numbered.
type ScopeColumn struct {
	Column string // written as in SQL
	Type   string // [ScopeInteger], also meant by "", or [ScopeText]
}

// scope returns the columns of Scope, nil if it has none.
func (s Source) scope() []ScopeColumn {
	if s.Scope == nil {
		return nil
	}
	return *s.Scope
}

// joined reports whether the numbers of a sequence are reserved in the
// transaction of the statement that takes them.
func (s Source) joined() bool { return s.Transaction == TransactionJoined || s.Scope != nil }

// Range are the integers from First to Last, both included; the zero Range has none. In
// the file it is [First, Last].
type Range struct{ First, Last int64 }

// Source is how keys are made. The comment of each field names the kinds that read it;
// setting any other field is an error.
type Source struct {
	// Kind is one of the kinds, such as [KindUUIDv7].
	Kind string

	// Epoch is the instant from which the time in a key counts. Of a comb it is
	// one of keysource's; "" is [keysource.EpochDotNet]. For a snowflake it is
	// a day from 00:00 UTC, as in 2020-01-01, which "" stands for.
	Epoch keysource.Epoch

	// Name is the name of the state, of a sequence or snowflake; "" is the name
	// of the entry of [Config.Sources], or table.column for a source in place.
	// It may hold {schema}, {table} and, more than once, {value:x} for a value
	// called x that comes with the execution; then there are as many states.
	Name string

	// Store is where the state of a sequence or snowflake is kept: the name of
	// an entry of [Config.Stores]; "" is the application's own database;
	// [StoreNone], for a snowflake, nowhere.
	Store string

	// Upstream is the store that a sequence in the application's own database has its
	// integers from, in blocks: the name of an entry of [Config.Stores]; "" is no such
	// store. UpstreamBlock is how many integers such a block has; where it is 0, the number
	// follows the use, and a block lasts for about UpstreamLasts.
	Upstream      string
	UpstreamBlock int64
	UpstreamLasts time.Duration

	// Block, MinBlock, MaxBlock, OnBehind and OnStoreRollback are the fields of
	// [keysource.SequenceOptions] with these names. A snowflake has OnBehind too,
	// but not [keysource.RemedyAdvance].
	Block, MinBlock, MaxBlock int64

	// Start is the first integer of a sequence whose row is made; 0 is the one
	// after the greatest key in use.
	Start int64

	// Below is the first integer that a sequence does not give, since the column's own
	// counter (AUTO_INCREMENT, IDENTITY, a default) gives those from there on: the engine
	// is asked whether its counter stands there. The start and the greatest key are
	// determined from the keys below it only. 0 is no such integer.
	Below int64

	// StartAt is the least integer that a sequence gives, while another sequence of the
	// column gives those below it: that one gets an end there, which its row keeps. It
	// is of use for a source in place whose state is in keyfill's own table in the
	// application's database. 0 is no such integer.
	StartAt int64

	// SkipRange are integers that a sequence does not give, since something outside of
	// keyfill does. The zero Range has none.
	SkipRange Range

	// EnsureSchema creates the tables of the store, for a sequence or a
	// snowflake. Where it is false and a file does not say so, [Config.EnsureSchema]
	// counts.
	EnsureSchema bool
	saysNoSchema bool // a file says ensure_schema: false

	// Create makes a missing row of a sequence; where it is nil, EnsureSchema decides.
	// See [Source.CreateRow].
	Create *bool

	// Exclusive states that nothing else fills the column of a sequence or snowflake:
	// neither another source nor a default or a counter of the column.
	Exclusive bool

	// FollowExplicit moves a sequence above the keys that INSERTs bring.
	FollowExplicit bool

	// "" is [keysource.RemedyWarn] for a native source with Block 1, and
	// [keysource.RemedyError] for any other.
	OnBehind, OnStoreRollback keysource.Remedy

	// Worker, WorkerEnv and WorkerOrdinal are where a snowflake takes the number
	// of its worker from, as Worker, WorkerEnv and Ordinal of
	// [keysource.SnowflakeOptions]. Exactly one is given.
	Worker        *int
	WorkerEnv     string
	WorkerOrdinal bool

	// WorkerLease is the time for which the number of the worker is leased from the store
	// without saying so again, instead of being given: see [keysource.Leased].
	WorkerLease time.Duration

	// Bits is how many bits a snowflake has: 63, as the zero
	// [keysource.SnowflakeBits], or 53, as [keysource.SnowflakeBits53]; 0 is 63
	// unless the next ones say otherwise.
	Bits int

	// TimeBits, WorkerBits, SequenceBits and Unit are the fields of
	// [keysource.SnowflakeBits] with these names, instead of Bits. TimeBits is 0 if it is
	// not given.
	TimeBits, WorkerBits, SequenceBits int
	Unit                               time.Duration // 0 is one millisecond

	// Transaction is whether the numbers of a sequence are reserved apart from the user's
	// transaction, [TransactionAutonomous], also meant by "", or in it,
	// [TransactionJoined]: without gaps, and one transaction at a time.
	Transaction string

	// Lock is how a number is taken that others may be taking too: of a sequence,
	// pseudorandom, scatter or coprime [LockPessimistic], also meant by "", or
	// [LockOptimistic]; of maxplusone [LockRange], also meant by "", or [LockNone].
	Lock string

	// Via is whether the state of a sequence is read and written by statements,
	// [ViaTable], also meant by "", or by the stored procedure that Procedure names,
	// [ViaProcedure]; an empty Procedure is keyfill's own.
	Via, Procedure string

	// Table is an existing table that holds the state of a sequence,
	// pseudorandom, scatter or coprime; nil is keyfill's own.
	Table *KeyTable

	// Scope are the columns within whose values a sequence numbers: one numbering
	// for each parent, say. nil is one for the table.
	Scope *Scope

	// Sequence is the engine's sequence that a native source reads, written as in SQL;
	// empty means the column's own.
	Sequence string

	// Length is how many characters a key has: of a coprime any, of a composite
	// 20, also meant by 0, or 24.
	Length int

	// Alphabet are the characters of a coprime, or [AlphabetBase62] or
	// [AlphabetBase32]; "" is the first where text compares by case, and the
	// second where it does not.
	Alphabet string

	// K is how far a coprime steps, without a divisor in common with the number
	// of its keys; 0 leaves the choice to keysource.ChooseK.
	K int64

	// Grow lets a coprime go on with keys of one character more when it has used
	// up all keys of Length.
	Grow bool

	// Collation states that the column of a coprime compares byte for byte,
	// [CollationBinary]; empty states nothing.
	Collation string

	// Key decides the order of a scatter's keys; "" is the name of its
	// state. It is no secret: the keys are spread, not hidden.
	Key string

	// Spread is the name of the value of an execution, a number from 0 to 999,
	// that a composite begins with, instead of a worker's.
	Spread string

	// Series is how many integers a process of a recycled source owns at a time;
	// 0 is 1,000,000.
	Series int64

	// Lease is how long a process owns a series of a recycled source without
	// saying so again; 0 is 30 seconds.
	Lease time.Duration
}

// clone returns a copy that shares nothing with s; nil of nil.
func (s *Source) clone() *Source {
	if s == nil {
		return nil
	}
	copied := *s
	copied.Create = clonePointer(s.Create)
	copied.Worker = clonePointer(s.Worker)
	copied.Table = clonePointer(s.Table)
	copied.Scope = clonePointer(s.Scope)
	if s.Scope != nil {
		*copied.Scope = slices.Clone(*s.Scope)
	}
	return &copied
}

func clonePointer[V any](p *V) *V {
	if p == nil {
		return nil
	}
	return new(*p)
}

// sourceID is a source that is complete, without what == does not compare.
type sourceID struct {
	source             Source
	createRow          bool
	hasWorker, onTable bool
	worker             int
	table              KeyTable
	scope              string
}

// id returns a value that is equal for sources with equal settings.
func (s Source) id() sourceID {
	id := sourceID{createRow: s.CreateRow(), hasWorker: s.Worker != nil, onTable: s.Table != nil}
	if id.hasWorker {
		id.worker = *s.Worker
	}
	if id.onTable {
		id.table = *s.Table
	}
	for _, c := range s.scope() {
		id.scope += fmt.Sprintf("%q %q ", c.Column, c.Type)
	}
	s.Create, s.Worker, s.Table, s.Scope = nil, nil, nil, nil
	id.source = s
	return id
}

// equal reports whether two sources that are complete say the same.
func (s Source) equal(t Source) bool { return s.id() == t.id() }
