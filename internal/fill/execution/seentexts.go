package execution

import (
	"context"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
)

// Plain executes an INSERT whose only key needs nothing of the transaction, as most
// statements do: the key is drawn, bound and sent. An [Execution] is made only if the
// driver answers with driver.ErrSkip or an error, or if a caller asks which rows were
// stored.
type Plain struct {
	Plan  *plans.Plan
	In    *plans.Insert
	Table *table.Table
	Key   int // the index of the key column in Table.KeyColumns

	// Bound holds the text to send, and the text in which the first key is
	// LAST_INSERT_ID(key). A prepared statement does not use them.
	Bound   [2]BoundText
	Bytes   bool // the key consists of bytes
	Joined  bool // the key is drawn in the transaction: the fast path prepares the text, and the transactional executor sends it
	Session bool // the text may be sent with LAST_INSERT_ID(key)
	Sets    bool // a value may return a set of rows: see storedMore of outcome.Answer
	IsOne   bool // the text has one row, which is stored if the statement succeeds

	Tally atomic.Pointer[report.TableTally] // the counts of the table; nil before the first execution
}

// BoundText is a text with a placeholder for its key.
type BoundText struct {
	Text   string
	Leaves bool // the text does not change what is known about the session: see [session.IsQuiet]
}

// Suits reports whether the INSERT may be executed on a connection: the transaction has
// changed no tables and is not one that is repeated after errors, the table's facts are
// known, the context has no recorder (see keyfill.Record) and no tracer, and a key of bytes
// is stored as it is sent. in is the way in which the driver sends arguments.
func (p *Plain) Suits(ctx context.Context, c *Conn, in session.Conversion) bool {
	return !c.Altered.On && c.Attempt == nil && FactsOf(c, p.Table) != nil && ctx.Value(watchKey{}) == nil &&
		(!p.Bytes || keepsBytes(c, in))
}

// keepsBytes reports whether a session is known to store the bytes of an argument.
func keepsBytes(c *Conn, in session.Conversion) bool {
	as, known := session.KnownConversion(&c.Conn.Conn)
	return known && as&in == 0
}

// FactsOf returns the catalog's facts about a table as a connection sees it; nil before
// the catalog was asked.
func FactsOf(c *Conn, t *table.Table) *table.Facts {
	if !t.AsksCatalog {
		return t.Gate.Facts.Load() // only the policy's facts, which are the same on all connections
	}
	return c.GateOf(t).Facts.Load()
}

// PlainText executes a repeated text as a [Plain] INSERT. It is used while nothing
// known about the connection gives the text another meaning.
type PlainText struct {
	*Plain
	Home *session.Location // the place (schema or search path) in which the session has to be; nil if that does not matter
}

// SeenTexts caches facts about repeated texts, so that they are not searched for words
// each time. It is safe for concurrent use, and has no lock.
//
// The hash of a text chooses its slot. A text is stored in its slot when it comes twice
// without another text of that slot in between, so that texts that come only once replace
// no other.
type SeenTexts struct {
	tables *relation.Tables
	seed   maphash.Seed
	slots  [1024]seenSlot
}

type seenSlot struct {
	text atomic.Pointer[SeenText]
	last atomic.Uint64 // the hash of the last text that came and was not stored here
}

// SeenText holds the facts about a text that depend only on the text, the engine and
// the policy.
type SeenText struct {
	Query   string
	Engine  *table.Engine
	Concern words.Concern
	passed  bool // the text has an INSERT, and is passed unchanged on a connection about which nothing special is known

	Leaves bool // the text does not change what is known about the session: see [session.IsQuiet]

	Plain atomic.Pointer[PlainText] // executes the text, once it is known how
}

// longestSeen is the greatest length of a remembered text: all texts together take at
// most 4 MB.
const longestSeen = 4096

// NewSeenTexts returns an empty cache for a database.
func NewSeenTexts(tables *relation.Tables) *SeenTexts {
	return &SeenTexts{tables: tables, seed: maphash.MakeSeed()}
}

// See returns what a query concerns, whether it is an INSERT that is passed unchanged
// on a connection about which nothing special is known, and the remembered facts about
// it, or nil. last is the last text of the connection, or nil: if the query is the same
// text again, it is found without its hash.
func (s *SeenTexts) See(query string, last *SeenText) (concern words.Concern, passed bool, known *SeenText) {
	e := s.tables.Engine.Load()
	if e == nil {
		// The engine is not known yet: ask the last candidate (MariaDB), which executes
		// comments that the first one (MySQL) ignores.
		return concernOf(s.tables.Candidates[len(s.tables.Candidates)-1].Dialect, query), false, nil
	}
	if last != nil && last.Engine == e && last.Query == query {
		return last.Concern, last.passed, last
	}
	if len(query) > longestSeen {
		concern = concernOf(e.Dialect, query)
		return concern, concern == words.ConcernsInsert && e.PassesAtSight(query), nil
	}
	hash := maphash.String(s.seed, query)
	slot := &s.slots[hash%uint64(len(s.slots))]
	if t := slot.text.Load(); t != nil && t.Engine == e && t.Query == query {
		return t.Concern, t.passed, t
	}
	concern = concernOf(e.Dialect, query)
	passed = concern == words.ConcernsInsert && e.PassesAtSight(query)
	if slot.last.Load() != hash {
		slot.last.Store(hash)
		return concern, passed, nil
	}
	// Copy the query: the caller's string may be a part of a large one, or memory that
	// changes.
	t := &SeenText{Query: strings.Clone(query), Engine: e, Concern: concern}
	t.passed = passed || concern == words.ConcernsInsert && e.Passes(t.Query)
	t.Leaves = session.IsQuiet(e.Dialect, t.Query)
	slot.text.Store(t)
	return concern, t.passed, t
}

// concernOf returns what a query concerns. It reports that names are concerned only if
// the query may really rename a table.
func concernOf(d *dialect.Dialect, query string) words.Concern {
	concern := words.Concerns(d, query)
	if concern&words.ConcernsNames != 0 && !effects.Renames(d, query) {
		concern &^= words.ConcernsNames
	}
	return concern
}
