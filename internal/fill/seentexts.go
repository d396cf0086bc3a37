package fill

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// seenTexts remembers what was found out about the texts that come again and again,
// so that these are not searched for words each time. It is safe for concurrent
// use, and has no lock.
//
// A text has one slot, by its hash, and enters it when it comes twice before
// another text of the slot: a stream of texts that come only once drives out none.
type seenTexts struct {
	tables *keys.Tables
	seed   maphash.Seed
	slots  [1024]seenSlot
}

type seenSlot struct {
	text atomic.Pointer[seenText]
	last atomic.Uint64 // the hash of the text that came last and was not there
}

// seenText is what was found out about a text, which depends on nothing but the
// text, the engine and the policy.
type seenText struct {
	query   string
	engine  *keys.Engine
	concern rewrite.Concern
	passed  bool // it has an INSERT, and is passed on a connection that knows nothing else

	leaves bool // it leaves what is known of the session: see [session.IsQuiet]

	plain atomic.Pointer[plainText] // what executes it, once that is known
}

// longestSeen bounds the texts that are remembered: 4 MB in all.
const longestSeen = 4096

func newSeenTexts(tables *keys.Tables) *seenTexts {
	return &seenTexts{tables: tables, seed: maphash.MakeSeed()}
}

// see says what a query concerns, whether it is an INSERT that is passed on a
// connection that knows nothing else, and what is remembered of it: nil where that is
// nothing. A text that is the last one of its connection again is known without its
// hash; last may be nil.
func (s *seenTexts) see(query string, last *seenText) (concern rewrite.Concern, passed bool, known *seenText) {
	e := s.tables.Engine.Load()
	if e == nil {
		// The last one of a family runs comments that the first one takes for comments.
		return concernOf(s.tables.Candidates[len(s.tables.Candidates)-1].Dialect, query), false, nil
	}
	if last != nil && last.engine == e && last.query == query {
		return last.concern, last.passed, last
	}
	if len(query) > longestSeen {
		concern = concernOf(e.Dialect, query)
		return concern, concern == rewrite.ConcernsInsert && e.PassesAtSight(query), nil
	}
	hash := maphash.String(s.seed, query)
	slot := &s.slots[hash%uint64(len(s.slots))]
	if t := slot.text.Load(); t != nil && t.engine == e && t.query == query {
		return t.concern, t.passed, t
	}
	concern = concernOf(e.Dialect, query)
	passed = concern == rewrite.ConcernsInsert && e.PassesAtSight(query)
	if slot.last.Load() != hash {
		slot.last.Store(hash)
		return concern, passed, nil
	}
	// The caller's string may be a piece of a large one, or memory that changes.
	t := &seenText{query: strings.Clone(query), engine: e, concern: concern}
	t.passed = passed || concern == rewrite.ConcernsInsert && e.Passes(t.query)
	t.leaves = session.IsQuiet(e.Dialect, t.query)
	slot.text.Store(t)
	return concern, t.passed, t
}

// concernOf says what a query concerns, and of names only where it may really give a
// table another one.
func concernOf(d *dialect.Dialect, query string) rewrite.Concern {
	concern := rewrite.Concerns(d, query)
	if concern&rewrite.ConcernsNames != 0 && !rewrite.Renames(d, query) {
		concern &^= rewrite.ConcernsNames
	}
	return concern
}
