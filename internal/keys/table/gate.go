package table

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Gate asks the catalog once for a table, before its first fill.
type Gate struct {
	// Facts is the catalog's answer; nil before it was asked.
	Facts atomic.Pointer[Facts]
	turn  chan struct{} // holds one token: one caller asks at a time

	// Rows holds the facts about the table's rows. If they could not be read, they are read
	// again after RowsPausedUntil, in nanoseconds of the Unix epoch.
	Rows            atomic.Pointer[RowFacts]
	RowsPausedUntil atomic.Int64
	// TriggersPausedUntil is RowsPausedUntil for callers that ask only whether there are
	// triggers.
	TriggersPausedUntil atomic.Int64

	// Refused holds the facts about the rows when an INSERT was refused, for the log. They
	// are used until RefusedUntil, in nanoseconds of the Unix epoch.
	Refused      atomic.Pointer[RowFacts]
	RefusedUntil atomic.Int64

	// Values keeps plans that read the values of a row: see valuesOf in
	// fill/upsertid.go.
	Values *plans.Cache

	mu      sync.Mutex
	missing *Facts    // of a table that is not there
	failed  error     // why the table was found unfit
	until   time.Time // the end of the time in which the two hold
}

// RecheckPause is the time after which a table that was found unfit, or not found, is looked
// at again.
const RecheckPause = time.Second

// NewGate returns a gate without facts.
func NewGate() *Gate { return &Gate{Values: newValues(), turn: make(chan struct{}, 1)} }

// Keep keeps the facts of a table that is there.
func (g *Gate) Keep(f *Facts) {
	g.Rows.Store(f.Rows)
	g.Facts.Store(f)
}

// Recent returns the last answer where it is younger than RecheckPause: that the table
// is not there, or is unfit.
func (g *Gate) Recent() (*Facts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.missing, g.failed
	}
	return nil, nil
}

// Again keeps an answer that is asked for again after RecheckPause.
func (g *Gate) Again(missing *Facts, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.failed, g.until = missing, failed, time.Now().Add(RecheckPause)
}

// TakeTurn waits for at most wait until it is the caller's turn to ask the catalog, and
// returns how much of wait is left for the answer. With a full wait for the answer, a caller
// would wait once for each caller before it if the server does not answer.
func (g *Gate) TakeTurn(ctx context.Context, wait time.Duration) (left time.Duration, err error) {
	began, timer := time.Now(), time.NewTimer(wait)
	defer timer.Stop()
	select {
	case g.turn <- struct{}{}:
		return wait - time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return 0, notRead(context.DeadlineExceeded)
	}
}

// EndTurn lets the next caller of TakeTurn go on.
func (g *Gate) EndTurn() { <-g.turn }

// newValues returns a cache for the plans that valuesOf in fill/upsertid.go makes.
func newValues() *plans.Cache { return plans.NewCache(CacheEntries/32, CacheBytes/32) }

// TemporaryGates are the gates of names that have meant temporary tables of the
// connection, while the tables are as they were.
type TemporaryGates struct {
	Gates map[*Table]*Gate
	Since uint64 // what Since of the session's columns was then
}

// Keep keeps the facts of a temporary table.
func (a *TemporaryGates) Keep(t *Table, f *Facts, since uint64) {
	if a.Gates == nil || a.Since != since {
		a.Gates, a.Since = map[*Table]*Gate{}, since
	}
	a.Gates[t] = NewGate()
	a.Gates[t].Keep(f)
}
