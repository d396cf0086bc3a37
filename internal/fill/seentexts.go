package fill

import (
	"context"
	"database/sql/driver"
	"hash/maphash"
	"strings"
	"sync/atomic"

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
	seed  maphash.Seed
	slots [1024]seenSlot
}

type seenSlot struct {
	text atomic.Pointer[seenText]
	last atomic.Uint64 // the hash of the text that came last and was not there
}

// seenText is what was found out about a text, which depends on nothing but the
// text, the engine and the policy.
type seenText struct {
	query  string
	engine *keys.Engine
	what   rewrite.Concern
	passed bool // it has an INSERT, and is passed on a connection that knows nothing else

	leaves bool // it leaves what is known of the session: see [session.IsQuiet]

	plain atomic.Pointer[plainText] // what executes it, once that is known
}

// longestSeen bounds the texts that are remembered: 4 MB in all.
const longestSeen = 4096

func newSeenTexts() *seenTexts { return &seenTexts{seed: maphash.MakeSeed()} }

// see says what a query concerns, whether it is an INSERT that is passed on a
// connection that knows nothing else, and what is remembered of it: nil where that is
// nothing.
func (db *Database) see(query string) (what rewrite.Concern, passed bool, known *seenText) {
	e := db.Engine.Load()
	if e == nil {
		return db.concerns(query), false, nil
	}
	if len(query) > longestSeen {
		what = concernsOf(e.Dialect, query)
		return what, what == rewrite.ConcernsInsert && e.PassesAtSight(query), nil
	}
	hash := maphash.String(db.seen.seed, query)
	slot := &db.seen.slots[hash%uint64(len(db.seen.slots))]
	if t := slot.text.Load(); t != nil && t.engine == e && t.query == query {
		return t.what, t.passed, t
	}
	what = concernsOf(e.Dialect, query)
	passed = what == rewrite.ConcernsInsert && e.PassesAtSight(query)
	if slot.last.Load() != hash {
		slot.last.Store(hash)
		return what, passed, nil
	}
	// The caller's string may be a piece of a large one, or memory that changes.
	t := &seenText{query: strings.Clone(query), engine: e, what: what}
	t.passed = passed || what == rewrite.ConcernsInsert && e.Passes(t.query)
	t.leaves = session.IsQuiet(e.Dialect, t.query)
	slot.text.Store(t)
	return what, t.passed, t
}

// Passes says what a query concerns, whether it goes to the driver as it is, and
// whether it is counted then.
func (g *Conn) Passes(query string) (what rewrite.Concern, pass, counts bool) {
	what, passed, seen := g.DB.see(query)
	g.seen = seen
	switch {
	case what == 0:
		return 0, true, false
	case passed && !g.Temporary.Every:
		g.AlteredTables.Created = nil
		return what, true, true
	}
	return what, false, false
}

// ExecPassed executes a text that Passes has just said to go to the driver.
func (g *Conn) ExecPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if g.seen != nil && g.seen.leaves {
		return g.ExecQuiet(ctx, query, args)
	}
	return g.ExecContext(ctx, query, args)
}

// QueryPassed is ExecPassed for a text that gives rows.
func (g *Conn) QueryPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if g.seen != nil && g.seen.leaves {
		return g.QueryQuiet(ctx, query, args)
	}
	return g.QueryContext(ctx, query, args)
}

// PreparePassed prepares such a text.
func (g *Conn) PreparePassed(ctx context.Context, query string) (driver.Stmt, error) {
	if g.seen != nil && g.seen.leaves {
		return g.PrepareQuiet(ctx, query)
	}
	return g.PrepareContext(ctx, query)
}

// CountPassed counts an INSERT that the driver has taken as it came.
func (g *Conn) CountPassed() { g.DB.Tally.Passed.Add(1) }
