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

// CreateRow reports whether keyfill creates a missing row of a sequence: it does what
// Create says, or what EnsureSchema says if Create is nil.
func (s Source) CreateRow() bool {
	if s.Create != nil {
		return *s.Create
	}
	return s.EnsureSchema
}

// KeyTable is an existing table, made and still used by other programs, that holds the
// states (counters) of sources. Its names are written as in SQL.
type KeyTable struct {
	Name    string
	Key     string // the column that names the source of a row; empty if the table has one row
	Row     string // the value of Key in the source's row; empty means the name of the state
	Value   string // the column of the number; for a coprime, the column of the last key as a number
	Stored  string // [StoredNext] or [StoredLast]
	Version string // the column that counts changes, for [LockOptimistic]; empty if the table has no such column
}

// Scope holds one or more columns, for each of whose values rows are numbered separately. A
// pointer to it keeps [Source] comparable: Scope: &policy.Scope{{Column: "order_id"}}.
type Scope []ScopeColumn

// ScopeColumn is a column of a Scope, such as the column that names a row's parent.
type ScopeColumn struct {
	Column string // written as in SQL
	Type   string // [ScopeInteger] (also if empty) or [ScopeText]
}

// scope returns the columns of Scope, or nil if it is nil.
func (s Source) scope() []ScopeColumn { return s.Scope.columns() }

// columns returns the columns of s, or nil if it is nil.
func (s *Scope) columns() []ScopeColumn {
	if s == nil {
		return nil
	}
	return *s
}

// clone returns a copy of s, or nil if it is nil.
func (s *Scope) clone() *Scope {
	if s == nil {
		return nil
	}
	return new(slices.Clone(*s))
}

// joined reports whether the numbers of a sequence are reserved in the
// transaction of the statement that takes them.
func (s Source) joined() bool { return s.Transaction == TransactionJoined || s.Scope != nil }

// Range is the integers from First to Last, both included; the zero Range has none. In
// the file it is [First, Last].
type Range struct{ First, Last int64 }

// Source is how keys are made. The comment of each field names the kinds that read it;
// setting any other field is an error.
type Source struct {
	// Kind is one of the kinds, such as [KindUUIDv7].
	Kind string

	// Epoch is the instant from which the time in a key counts. For a comb it is one of
	// keysource's epochs; empty means [keysource.EpochDotNet]. For a snowflake it is a
	// day from 00:00 UTC, such as 2020-01-01, which is the default.
	Epoch keysource.Epoch

	// Prefix is the prefix of the keys of a uuidv7, which then are TypeIDs
	// ([keysource.TypeID]); empty means none. A column whose layout the policy names
	// holds the UUIDs alone.
	Prefix string

	// Name is the name of the state (counter) of a sequence or snowflake. Empty means the
	// name of the entry of [Config.Sources], or table.column for a source in a table's
	// entry. It may hold {schema}, {table} and, more than once, {value:x} for a value called
	// x that comes with the execution; then there are as many states.
	Name string

	// Store is where the state (counter) of a sequence or snowflake is kept: the name of an
	// entry of [Config.Stores]. Empty means the application's own database, and [StoreNone],
	// for a snowflake, nowhere.
	Store string

	// Upstream is the store from which a sequence in the application's own database
	// gets its integers, in blocks: the name of an entry of [Config.Stores]. Empty
	// means none. UpstreamBlock is how many integers such a block has. If it is 0, the
	// number follows the use, and a block lasts for about UpstreamLasts.
	Upstream      string
	UpstreamBlock int64
	UpstreamLasts time.Duration

	// Block is how many integers are reserved at a time; 0 lets the number follow the use,
	// from MinBlock (0 means 10) to MaxBlock (0 means 1,000,000). With 1 the keys of all
	// processes are in the order of time, and each statement waits for the store.
	Block, MinBlock, MaxBlock int64

	// Start is the first integer of a sequence whose row keyfill creates; 0 means the
	// integer after the greatest key in use.
	Start int64

	// Below is the first integer that a sequence does not give, since the column's own
	// counter (AUTO_INCREMENT, IDENTITY, a default) gives the integers from there on. The
	// engine is asked whether its counter is as high. The start and the greatest key are
	// determined from the keys below it only. 0 means that there is no such integer.
	Below int64

	// StartAt is the least integer that a sequence gives, while another sequence of the
	// column gives the integers below it: the row of that sequence then has StartAt as
	// its end. It is for a source in a table's entry whose state is in keyfill's own
	// table in the application's database. 0 means that there is no such integer.
	StartAt int64

	// SkipRange holds the integers that a sequence does not give, since a generator
	// outside of keyfill does. The zero Range has none.
	SkipRange Range

	// EnsureSchema makes keyfill create its tables in the store, for a sequence or a
	// snowflake. If EnsureSchema is false, and the file does not say ensure_schema: false
	// in the source, [Config.EnsureSchema] applies.
	EnsureSchema bool
	saysNoSchema bool // whether a file says ensure_schema: false in the source

	// Create makes keyfill create a missing row of a sequence. If it is nil,
	// EnsureSchema decides. See [Source.CreateRow].
	Create *bool

	// Exclusive states that only this source fills the column of a sequence or snowflake:
	// no other source, no default and no counter of the column does.
	Exclusive bool

	// FollowExplicit raises the state of a sequence (counter) above the keys that INSERTs
	// bring.
	FollowExplicit bool

	// OnBehind and OnStoreRollback are what a source does if its state is too low: below a
	// key of the table, or than before. A snowflake has OnBehind alone, and not
	// [keysource.RemedyAdvance]. For a native source with Block 1, empty means
	// [keysource.RemedyWarn]; for a sequence that follows the keys of INSERTs, an empty
	// OnBehind means [keysource.RemedyAdvance]. In other cases empty means
	// [keysource.RemedyError].
	OnBehind, OnStoreRollback keysource.Remedy

	// Worker, WorkerEnv and WorkerOrdinal are where a snowflake gets the number of its
	// worker, as Worker, WorkerEnv and Ordinal of [keysource.SnowflakeOptions]. Exactly
	// one of them is given, unless WorkerLease is.
	Worker        *int
	WorkerEnv     string
	WorkerOrdinal bool

	// WorkerLease is for how long a snowflake leases the number of its worker from the
	// store, before it has to renew the lease.
	WorkerLease time.Duration

	// Bits is how many bits a snowflake has: 63, as the zero [keysource.SnowflakeBits],
	// or 53, as [keysource.SnowflakeBits53]. 0 means 63 unless TimeBits is set.
	Bits int

	// TimeBits, WorkerBits, SequenceBits and Unit are the fields of
	// [keysource.SnowflakeBits] with these names, instead of Bits. TimeBits is 0 if it is
	// not given.
	TimeBits, WorkerBits, SequenceBits int
	Unit                               time.Duration // 0 means one millisecond

	// Transaction says in which transaction the numbers of a sequence are reserved: a
	// separate one ([TransactionAutonomous], also if empty), or the application's own
	// ([TransactionJoined]), without gaps and for one transaction at a time.
	Transaction string

	// Lock says how a source keeps two statements from reserving the same number, or that it
	// does not: for a sequence, pseudorandom, scatter or coprime [LockPessimistic] (also if
	// empty) or [LockOptimistic]; for maxplusone [LockRange] (also if empty) or [LockNone].
	Lock string

	// Via says how the state (counter) of a sequence is read and written: by statements on
	// its table ([ViaTable], also if empty), or by the stored procedure that Procedure
	// names ([ViaProcedure]). An empty Procedure means keyfill's own procedure.
	Via, Procedure string

	// Table is an existing table that holds the state (counter) of a sequence, pseudorandom,
	// scatter or coprime; nil means keyfill's own table.
	Table *KeyTable

	// Scope holds the columns for each of whose values a sequence numbers rows separately,
	// such as the column of the parent. nil means one numbering for the table.
	Scope *Scope

	// Namespace is the UUID within which the keys of a uuidv5 are made, as 36 characters, and
	// From are the columns that they are made from.
	Namespace string
	From      *Scope

	// Format is the template of the texts of a sequence's numbers, such as INV-{year}-{n:05};
	// empty means that the keys are the integers. It determines the number, the period and
	// the values of the scope that it is about: a text belongs to one number.
	Format string

	// Period says when the numbers of a sequence with Format begin again at 1.
	Period Period

	// MaxLength is how many characters a text of Format may have; 0 means any number.
	MaxLength int

	// Sequence is the engine's sequence that a native source reads, written as in SQL;
	// empty means the column's own.
	Sequence string

	// Length is how many characters a key has: any number for a coprime; 20, which 0
	// means too, or 24 for a composite.
	Length int

	// Alphabet holds the characters of a coprime, or [AlphabetBase62] or [AlphabetBase32];
	// empty means base 62 if the column compares text by case, and base 32 otherwise. For a
	// sequence with Format it holds the characters, and ranges such as A-Z, that a text may
	// have; empty means any.
	Alphabet string

	// K is the step from one key of a coprime to the next, as a number that has no divisor
	// in common with the number of possible keys. If K is 0, keysource.ChooseK chooses it.
	K int64

	// Grow lets a coprime make keys of one character more after it has used all keys of
	// Length characters.
	Grow bool

	// Collation states that the column of a coprime compares byte for byte,
	// [CollationBinary]; empty states nothing.
	Collation string

	// Key is a text that decides the order of a scatter's keys; empty means the name of its
	// state. Key need not be secret: a scatter spreads its keys and does not hide their
	// order.
	Key string

	// Spread is the name of a value that comes with the execution, a number from 0 to
	// 999. A composite key begins with it instead of a worker's number.
	Spread string

	// Series is how many integers a process of a recycled source owns at a time; 0
	// means 1,000,000.
	Series int64

	// Lease is for how long a process owns a series (a range of integers) of a recycled
	// source until it has to renew the lease; 0 means 30 seconds.
	Lease time.Duration
}

// clone returns a copy that shares nothing with s, or nil if s is nil.
func (s *Source) clone() *Source {
	if s == nil {
		return nil
	}
	copied := *s
	copied.Create = clonePointer(s.Create)
	copied.Worker = clonePointer(s.Worker)
	copied.Table = clonePointer(s.Table)
	copied.Scope, copied.From = s.Scope.clone(), s.From.clone()
	return &copied
}

func clonePointer[V any](p *V) *V {
	if p == nil {
		return nil
	}
	return new(*p)
}

// sourceID holds the settings of a source with its defaults, in a form that == compares.
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
	for _, c := range slices.Concat(s.scope(), s.from()) { // a source has one of the two
		id.scope += fmt.Sprintf("%q %q ", c.Column, c.Type)
	}
	s.Create, s.Worker, s.Table, s.Scope, s.From = nil, nil, nil, nil, nil
	id.source = s
	return id
}

// equal reports whether two sources, whose defaults are set, have the same settings.
func (s Source) equal(t Source) bool { return s.id() == t.id() }
