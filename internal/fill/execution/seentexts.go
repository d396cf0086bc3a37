package execution

import (
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

// Plain executes an INSERT whose only key needs nothing of the transaction, which is
// what most statements are: the key is drawn, bound and sent. An execution is made
// when the driver answers with driver.ErrSkip or an error, and when a caller asks
// which rows were stored.
type Plain struct {
	Plan  *plans.Plan
	In    *plans.Insert
	Table *table.Table
	Key   int // the index of the key column among the table's

	// bound are the text that is sent, and the text that is sent with the first key as
	// LAST_INSERT_ID(key). A statement that is prepared has no use for them.
	Bound   [2]BoundText
	Session bool // the text allows LAST_INSERT_ID(key)
	Sets    bool // a value may be a set: see storedMore
	IsOne   bool // it is one row, which is stored where the statement succeeds

	Tally atomic.Pointer[report.TableTally] // of the table; nil before the first execution
}

// BoundText is a text with a placeholder for its key.
type BoundText struct {
	Text   string
	Leaves bool // it leaves the known state of the session unchanged: see [session.IsQuiet]
}

// FactsOf returns the catalog's facts about a table, as far as they are true of a
// connection; nil before it was asked.
func FactsOf(c *Conn, t *table.Table) *table.Facts {
	if !t.AsksCatalog {
		return t.Gate.Facts.Load() // the policy's alone, for any connection
	}
	return c.GateOf(t).Facts.Load()
}

// PlainText is the plain executor of a repeated text. It is used while its connection
// knows nothing that gives the text another meaning.
type PlainText struct {
	*Plain
	Home *session.Location // where the session has to be; nil where its place does not matter
}

// SeenTexts caches facts about repeated texts, so that these are not searched for words
// each time. It is safe for concurrent use, and has no lock.
//
// A text has one slot, by its hash, and enters it when it comes twice before
// another text of the slot: a stream of texts that come only once drives out none.
type SeenTexts struct {
	tables *relation.Tables
	seed   maphash.Seed
	slots  [1024]seenSlot
}

type seenSlot struct {
	text atomic.Pointer[SeenText]
	last atomic.Uint64 // the hash of the text that came last and was not there
}

// SeenText holds the facts about a text that depend only on the text, the engine and the
// policy.
type SeenText struct {
	Query   string
	Engine  *table.Engine
	Concern words.Concern
	passed  bool // it has an INSERT, and is passed on a connection that knows nothing else

	Leaves bool // it leaves the known state of the session unchanged: see [session.IsQuiet]

	Plain atomic.Pointer[PlainText] // what executes it, once that is known
}

// longestSeen bounds the texts that are remembered: 4 MB in all.
const longestSeen = 4096

// NewSeenTexts returns the texts that were seen of a database: none.
func NewSeenTexts(tables *relation.Tables) *SeenTexts {
	return &SeenTexts{tables: tables, seed: maphash.MakeSeed()}
}

// See returns what a query concerns, whether it is an INSERT that is passed on a
// connection that knows nothing else, and the facts that are remembered of it, or nil. A
// text that is the last one of its connection again is known without its hash; last may
// be nil.
func (s *SeenTexts) See(query string, last *SeenText) (concern words.Concern, passed bool, known *SeenText) {
	e := s.tables.Engine.Load()
	if e == nil {
		// The last one of a family runs comments that the first one takes for comments.
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
	// The caller's string may be a piece of a large one, or memory that changes.
	t := &SeenText{Query: strings.Clone(query), Engine: e, Concern: concern}
	t.passed = passed || concern == words.ConcernsInsert && e.Passes(t.Query)
	t.Leaves = session.IsQuiet(e.Dialect, t.Query)
	slot.text.Store(t)
	return concern, t.passed, t
}

// concernOf returns what a query concerns, and of names only where it may really give a
// table another one.
func concernOf(d *dialect.Dialect, query string) words.Concern {
	concern := words.Concerns(d, query)
	if concern&words.ConcernsNames != 0 && !effects.Renames(d, query) {
		concern &^= words.ConcernsNames
	}
	return concern
}
