package policy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// Source says how keys are made. Which fields a kind reads stands beside them;
// any other that is set is an error.
type Source struct {
	// Kind is one of the kinds, such as [KindUUIDv7].
	Kind string

	// Epoch is the instant from which the time in a key counts. Of a comb it
	// is one of keysource's; "" is [keysource.EpochDotNet]. Of a snowflake it
	// is a day, as in 2020-01-01, which is what "" means, from 00:00 UTC.
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

	// Block, MinBlock and MaxBlock are those of [keysource.SequenceOptions], as
	// are OnBehind and OnStoreRollback, of which the first is for a snowflake
	// too, but not [keysource.RemedyAdvance].
	Block, MinBlock, MaxBlock int64

	// Start is the first integer of a sequence whose row is made; 0 is the one
	// after the greatest key in use.
	Start int64

	// EnsureSchema creates the tables of the store, for a sequence or a
	// snowflake.
	EnsureSchema bool

	// Create makes a missing row of a sequence; nil is what EnsureSchema says.
	// See [Source.CreateRow].
	Create *bool

	// Exclusive says that what else could fill the column of a sequence or
	// snowflake does not: another source, or a default of the column.
	Exclusive bool

	// FollowExplicit moves a sequence above the keys that INSERTs bring.
	FollowExplicit bool

	OnBehind        keysource.Remedy // "" is [keysource.RemedyError]
	OnStoreRollback keysource.Remedy // of a sequence; "" is [keysource.RemedyError]

	// Worker, WorkerEnv and WorkerOrdinal are where a snowflake takes the number
	// of its worker from, as Worker, WorkerEnv and Ordinal of
	// [keysource.SnowflakeOptions]. Exactly one is given.
	Worker        *int
	WorkerEnv     string
	WorkerOrdinal bool

	// Bits is how many bits a snowflake has: 63, as the zero
	// [keysource.SnowflakeBits], or 53, as [keysource.SnowflakeBits53]; 0 is 63
	// unless the next ones say otherwise.
	Bits int

	// TimeBits, WorkerBits, SequenceBits and Unit are those of
	// [keysource.SnowflakeBits], instead of Bits. TimeBits is 0 when none is
	// given.
	TimeBits, WorkerBits, SequenceBits int
	Unit                               time.Duration // 0 is one millisecond
}

// Stateful reports whether keys come from a state that has to be kept apart
// from those of other columns and, but for a snowflake with store "none",
// stored: those of a sequence and of a snowflake do.
func (s Source) Stateful() bool {
	k := kindByName(s.Kind)
	return k != nil && k.stateful
}

// CreateRow reports whether a missing row of a sequence is made: what Create
// says, else EnsureSchema.
func (s Source) CreateRow() bool {
	if s.Create != nil {
		return *s.Create
	}
	return s.EnsureSchema
}

// SequenceOptions returns what s says of a sequence: all but Reserver, Max and
// MaxKey.
func (s Source) SequenceOptions() keysource.SequenceOptions {
	return keysource.SequenceOptions{
		Block:           s.Block,
		MinBlock:        s.MinBlock,
		MaxBlock:        s.MaxBlock,
		OnBehind:        s.OnBehind,
		OnStoreRollback: s.OnStoreRollback,
	}
}

// SnowflakeOptions returns what s says of a snowflake: all but Marker and
// Workers. It reads neither the environment nor the host's name, and s must be
// such that [Config.Compile] accepts it.
func (s Source) SnowflakeOptions() keysource.SnowflakeOptions {
	o := keysource.SnowflakeOptions{
		WorkerEnv: s.WorkerEnv,
		Ordinal:   s.WorkerOrdinal,
		Bits: keysource.SnowflakeBits{
			Time: s.TimeBits, Worker: s.WorkerBits, Sequence: s.SequenceBits, Unit: s.Unit,
		},
	}
	if s.Worker != nil {
		o.Worker = new(*s.Worker)
	}
	if s.Bits == 53 {
		o.Bits = keysource.SnowflakeBits53()
	}
	if day, err := time.Parse(time.DateOnly, string(s.Epoch)); err == nil {
		o.Bits.Epoch = day
	}
	return o
}

// New returns a new source as s describes it, with a state of its own; that of
// a snowflake has no Marker. The error is about an s that [Config.Compile]
// would refuse; of kind identity, which makes no keys; of kind sequence, which
// cannot be made without a store; or one of [keysource.NewSnowflake].
func (s Source) New(env keysource.Env) (keysource.Source, error) {
	m := &mistakes{}
	m.checkSource(place{}, s)
	if err := m.err(); err != nil {
		return nil, err
	}
	k := kindByName(s.Kind)
	if k.isIdentity() {
		return nil, &Error{Msg: fmt.Sprintf("kind %q makes no keys: the engine does", s.Kind)}
	}
	return k.open(k.complete(s), env)
}

// clone returns a copy that shares nothing with s; nil of nil.
func (s *Source) clone() *Source {
	if s == nil {
		return nil
	}
	copied := *s
	copied.Create = clonePointer(s.Create)
	copied.Worker = clonePointer(s.Worker)
	return &copied
}

func clonePointer[V any](p *V) *V {
	if p == nil {
		return nil
	}
	return new(*p)
}

// equal reports whether two sources that are complete say the same.
func (s Source) equal(t Source) bool {
	if s.CreateRow() != t.CreateRow() || (s.Worker == nil) != (t.Worker == nil) ||
		s.Worker != nil && *s.Worker != *t.Worker {
		return false
	}
	s.Create, s.Worker, t.Create, t.Worker = nil, nil, nil, nil
	return s == t
}

// completeSequence sets what a sequence leaves out.
func completeSequence(s *Source) {
	s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	s.OnStoreRollback = cmp.Or(s.OnStoreRollback, keysource.RemedyError)
}

// completeSnowflake sets what a snowflake leaves out.
func completeSnowflake(s *Source) {
	s.Epoch = cmp.Or(s.Epoch, "2020-01-01")
	s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	if s.TimeBits == 0 {
		s.Bits = cmp.Or(s.Bits, 63)
	} else {
		s.Unit = cmp.Or(s.Unit, time.Millisecond)
	}
}
