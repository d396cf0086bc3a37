package table

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Gate holds the catalog's facts about a table, which are read once, before its first
// fill.
type Gate struct {
	// Facts is what the catalog has answered; nil before it was asked.
	Facts atomic.Pointer[Facts]
	turn  chan struct{} // holds one token: one caller at a time queries the catalog

	// Rows holds the facts about the table's rows. If they could not be read, they are
	// read again after RowsPausedUntil, in nanoseconds of the Unix time.
	Rows            atomic.Pointer[RowFacts]
	RowsPausedUntil atomic.Int64
	// TriggersPausedUntil is the time after which the facts are read again for a caller
	// that needs them only to know whether there are triggers.
	TriggersPausedUntil atomic.Int64

	// Refused holds the facts about the rows from when an INSERT was refused, for the log.
	// They are used until RefusedUntil, in nanoseconds of the Unix time.
	Refused      atomic.Pointer[RowFacts]
	RefusedUntil atomic.Int64

	// Values caches plans that read the values of a row: see Answer.valuesOf in package
	// outcome.
	Values *plans.Cache

	mu      sync.Mutex
	missing *Facts    // the facts about a table that does not exist
	failed  error     // the error for a table that cannot take its keys
	until   time.Time // until when missing and failed are valid
}

// RecheckPause is how long to wait before the catalog is asked again about a table that
// was missing, or that could not take its keys.
const RecheckPause = time.Second

// NewGate returns a Gate without facts.
func NewGate() *Gate { return &Gate{Values: newValues(), turn: make(chan struct{}, 1)} }

// Keep stores the facts about an existing table.
func (g *Gate) Keep(f *Facts) {
	g.Rows.Store(f.Rows)
	g.Facts.Store(f)
}

// Recent returns the last answer if it is younger than RecheckPause: that the table
// does not exist, or cannot take its keys.
func (g *Gate) Recent() (*Facts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.missing, g.failed
	}
	return nil, nil
}

// Again stores an answer that is valid for RecheckPause only.
func (g *Gate) Again(missing *Facts, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.failed, g.until = missing, failed, time.Now().Add(RecheckPause)
}

// TakeTurn waits until it is the caller's turn to query the catalog, at most for wait,
// and returns how much of wait is left for the query. Otherwise, if the server does not
// answer, a caller would wait once for each caller before it.
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

// EndTurn lets the next caller of TakeTurn continue.
func (g *Gate) EndTurn() { <-g.turn }

// newValues returns a cache for the plans that Answer.valuesOf in package outcome makes.
func newValues() *plans.Cache { return plans.NewCache(CacheEntries/32, CacheBytes/32) }

// TemporaryGates holds a [Gate] (what the catalog says) for each table name that meant
// a temporary table of the connection, while these tables stay as they are.
type TemporaryGates struct {
	Gates map[*Table]*Gate
	Since uint64 // the value of Columns.Since of the session when Gates was last emptied
}

// Keep stores the facts about a temporary table.
func (a *TemporaryGates) Keep(t *Table, f *Facts, since uint64) {
	if a.Gates == nil || a.Since != since {
		a.Gates, a.Since = map[*Table]*Gate{}, since
	}
	a.Gates[t] = NewGate()
	a.Gates[t].Keep(f)
}
