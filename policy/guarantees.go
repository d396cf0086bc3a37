package policy

import (
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/numberformat"
)

// Guarantees describes the keys of a source in the databases of a dialect. It returns
// false if the engine does not have the source, and for identity, whose keys the engine
// makes. The source must be one that [Config.Compile] accepts.
//
// Guarantees are declared in this one place: the table in docs/guarantees.md is made
// from it.
func Guarantees(s Source, d *dialect.Dialect) (g Guarantee, ok bool) {
	k := kindOf(s)
	if k == nil || k.isIdentity() {
		return Guarantee{}, false
	}
	s = k.complete(s, d)
	m := &mistakes{}
	if k.suitAll(namer{d}, m, place{}, s); m.err() != nil {
		return Guarantee{}, false
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
			// A statement that reserves in its own transaction does not use the numbers
			// that the process has reserved before. These lower numbers are used later, so
			// keys are not in order.
			g.Ordered = NotOrdered
		}
	case KindSnowflake, KindComposite:
		// SQLite can keep no state (counter) that the statement's transaction does not undo.
		// Without a store, only the worker's number keeps the keys apart.
		if s.Store == StoreNone || s.Store == "" && d.OneWriter {
			g.Unique = UniqueByWorker
		}
	}
	return g, true
}

// GuaranteesOnGalera is Guarantees for a Galera cluster of MariaDB if processes write
// to all of its nodes at once. It returns false if the source is refused there.
//
// A node may abort a transaction in favour of another node's; the application then gets
// an error instead of a commit. Only a sequence of the engine has other guarantees on a
// cluster: its nodes give out values by turns, or the same values.
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
	case s.Scope != nil, !s.Period.isNone():
		g.Unique, g.Ordered, g.GapFree = UniqueInScope, OrderedInScope, s.joined()
		if s.Scope == nil {
			g.Ordered = OrderedInPeriod
		}
		if t, err := numberformat.Parse(s.Format); err == nil && t.Apart(s.numbering()) == nil {
			g.Unique = Unique
		}
	case s.joined():
		g.Ordered, g.GapFree = Ordered, true
	case s.Kind == KindNative && d.Family == dialect.FamilyOracle:
		// On Oracle each instance of a cluster may cache a range of the sequence, so keys
		// of different instances are out of order.
	case s.Block == 1:
		g.Ordered = Ordered
	}
	if t, err := numberformat.Parse(s.Format); err == nil && !t.IsOrdered() {
		g.Ordered = NotOrdered // text 10 sorts before text 9
	}
}

// Methods returns a source of each kind, and of each variant of a kind whose guarantees
// differ. Tables of guarantees list them.
func Methods() []Source {
	return []Source{
		{Kind: KindUUIDv7},
		{Kind: KindUUIDv7, Prefix: "cus"},
		{Kind: KindUUIDv4},
		{Kind: KindUUIDv5, Namespace: "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17", From: &Scope{{Column: "order_id"}, {Column: "line_no"}}},
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
		{Kind: KindSequence, Format: "INV-{n:05}"},
		{Kind: KindSequence, Transaction: TransactionJoined, Format: "INVOICE-{n}"},
		{Kind: KindSequence, Transaction: TransactionJoined, Format: "INV-{year}-{n:05}", Period: Period{Every: PeriodYear}},
		{Kind: KindSequence, Block: 1, Format: "INV-{year}-{n:05}", Period: Period{Every: PeriodYear}},
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
