package policy

import (
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Guarantee describes the keys of a source, under the default layout. It
// holds for all keys that the source makes, whether their rows are stored or not.
// Only where the state is a part of the transaction does the source make the
// keys of a transaction that was rolled back again: a joined or scoped sequence,
// maxplusone, and every counting source on SQLite.
type Guarantee struct {
	Unique  Uniqueness
	Ordered Order

	// Contiguous says that the keys of one statement are consecutive integers; in
	// a scope, that the keys of each of its values are.
	Contiguous bool

	// GapFree says that no number is left out between the keys that are stored,
	// whatever is rolled back or ends. Deleted rows leave theirs.
	GapFree bool

	// Short says that a key has at most 8 bytes, as an integer or as text.
	Short bool

	// Unguessable says that nobody can tell a key from others.
	Unguessable bool
}

// Uniqueness says why a source makes no key twice.
type Uniqueness string

const (
	// NotUnique says that a key can be made twice: only the primary key of the
	// table keeps it from being stored twice.
	NotUnique Uniqueness = "no"
	// UniqueByChance means random bits, which no two keys were seen to share.
	UniqueByChance Uniqueness = "by chance"
	// UniqueByWorker is by the worker's number alone, which no two processes may
	// have, and a clock that does not go back between two of them.
	UniqueByWorker Uniqueness = "by worker"
	// UniqueInScope is by the state, together with the columns of the scope.
	UniqueInScope Uniqueness = "in its scope"
	// Unique is by the state, over all processes and restarts. A store that
	// loses its last commits can break it.
	Unique Uniqueness = "yes"
)

// Order says among which keys a later one sorts after an earlier one.
type Order string

const (
	// NotOrdered means that a later key can sort before any earlier one.
	NotOrdered Order = "no"
	// OrderedByMillisecond means that the keys of one process sort by the
	// millisecond in which they were made.
	OrderedByMillisecond Order = "by the millisecond"
	// OrderedInSeries means that the keys of one series sort as they were made.
	OrderedInSeries Order = "in a series"
	// OrderedInSpread means that the keys of one spread sort as they were made.
	OrderedInSpread Order = "in a spread"
	// OrderedInProcess means that the keys of one process sort as they were made.
	OrderedInProcess Order = "in a process"
	// OrderedInScope means that the keys of one value of the scope sort as they
	// were made.
	OrderedInScope Order = "in its scope"
	// Ordered means that all keys sort as they were made.
	Ordered Order = "yes"
)

// Guarantees describes the keys of a source in the databases of a dialect. It returns
// false where the engine does not have the source, and for identity, whose keys the
// engine makes. The source must be one that [Config.Compile] accepts.
//
// Guarantees are declared in this one place: the table in docs/guarantees.md is made
// from it.
func Guarantees(s Source, d *dialect.Dialect) (g Guarantee, ok bool) {
	k := kindByName(s.Kind)
	if k == nil || k.isIdentity() {
		return Guarantee{}, false
	}
	s = k.complete(s, d)
	if m := (&mistakes{}); k.suit != nil {
		if k.suit(namer{d}, m, place{}, s); m.err() != nil {
			return Guarantee{}, false
		}
	}
	g = k.guarantee
	g.Short = k.integer
	switch s.Kind {
	case KindSequence, KindNative:
		s.guaranteeNumbers(&g, d)
	case KindCoprime:
		longest := s.Length
		if s.Grow {
			longest++
		}
		g.Short = longest <= 8
	case KindRecycled:
		if d.OneWriter {
			// A statement that reserves in its transaction passes by the numbers in
			// hand, and these are used later.
			g.Ordered = NotOrdered
		}
	case KindSnowflake, KindComposite:
		// SQLite has no store of its own that a transaction cannot undo.
		if s.Store == StoreNone || s.Store == "" && d.OneWriter {
			g.Unique = UniqueByWorker
		}
	}
	return g, true
}

// GuaranteesOnGalera is Guarantees for a Galera cluster of MariaDB to all of whose
// nodes processes write at once; false where the source is refused there.
//
// A node may end a transaction in favour of another node's, and the application then
// gets an error in the place of a commit. Only a sequence of the engine has other
// guarantees on a cluster: its nodes give out values by turns, or the same values.
func GuaranteesOnGalera(s Source) (g Guarantee, ok bool) {
	g, ok = Guarantees(s, dialect.MariaDB())
	if !ok || s.Kind != KindNative {
		return g, ok
	}
	if s.Block > 1 {
		return Guarantee{}, false
	}
	g.Ordered, g.Contiguous = NotOrdered, false
	return g, true
}

// guaranteeNumbers sets the guarantees that depend on how numbers are reserved.
func (s Source) guaranteeNumbers(g *Guarantee, d *dialect.Dialect) {
	switch {
	case s.Scope != nil:
		g.Unique, g.Ordered, g.GapFree = UniqueInScope, OrderedInScope, true
	case s.joined():
		g.Ordered, g.GapFree = Ordered, true
	case s.Kind == KindNative && d.Family == dialect.FamilyOracle:
		// The instances of a cluster have caches of their own, unless the sequence
		// was made with ORDER (Oracle SQL Language Reference, CREATE SEQUENCE).
	case s.Block == 1:
		g.Ordered = Ordered
	}
}

// Methods returns a source of every kind, and of every way of a kind that
// differs in its guarantees, for tables of them.
func Methods() []Source {
	return []Source{
		{Kind: KindUUIDv7},
		{Kind: KindUUIDv4},
		{Kind: KindULID},
		{Kind: KindCOMB},
		{Kind: KindSnowflake, WorkerEnv: "APP_WORKER"},
		{Kind: KindSnowflake, WorkerEnv: "APP_WORKER", Store: StoreNone},
		{Kind: KindSnowflake, WorkerLease: 30 * time.Second},
		{Kind: KindSequence},
		{Kind: KindSequence, Block: 1},
		{Kind: KindSequence, Via: ViaProcedure},
		{Kind: KindSequence, Transaction: TransactionJoined},
		{Kind: KindSequence, Scope: &Scope{{Column: "order_id"}}},
		{Kind: KindNative, Block: 50},
		{Kind: KindNative},
		{Kind: KindMaxPlusOne},
		{Kind: KindMaxPlusOne, Lock: LockNone},
		{Kind: KindPseudorandom},
		{Kind: KindScatter},
		{Kind: KindCoprime, Length: 6},
		{Kind: KindComposite, WorkerEnv: "APP_WORKER"},
		{Kind: KindComposite, Spread: "user"},
		{Kind: KindRecycled},
		{Kind: KindIdentity},
	}
}
