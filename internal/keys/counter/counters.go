package counter

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/keysource"
)

// Counter gives the integers of one state (a counter that is stored under a name).
type Counter struct {
	Numbers numbering.Numbers

	// Mapping converts numbers to keys; nil means that the numbers are the keys.
	Mapping keysource.Mapping
	Warned  atomic.Bool // the log has said that most numbers are used

	// WarnAt is the number from which on most numbers are used, and Remedy is the advice
	// to log then. WarnAt is below 1 if the counter has no last number, or if a mapping
	// limits its keys.
	WarnAt int64
	Remedy string

	// raise returns the statement that raises the next number to at least the number to; it
	// is nil if the operator raises next_value in keyfill_sequences instead.
	raise func(to int64) string

	// Home is the table that the stored counter numbers, as the catalog names it; empty if
	// the stored counter may number several tables.
	Home string

	// Bound holds the columns that share the counter's state (its row in the store); nil
	// if only one column uses it.
	Bound *Bound

	// Claimer returns the claim (a row that says which source fills a column) for a column
	// of the state (stored counter); nil if the state's row names its columns itself.
	Claimer Claimer

	// Use records in the claims (the rows that say which source fills a column) that the
	// counter is used; nil if that is not recorded.
	Use *UsedState

	Drawn atomic.Bool // a number was drawn from the counter

	Source string // the name of the source in statistics; empty if the counter serves no source

	// set is the set of counters that has this one, under the name state.
	set   *Counters
	state string

	OfValue bool  // the name of the stored counter contains a value, such as a tenant's
	used    int64 // the value of set.turn when the counter was last asked for; guarded by set.mu

	// Unseen is the error for which the catalog did not show the table when the counter
	// was made; nil if the catalog showed it.
	Unseen error
}

// Follower returns the counter's numbers if they can be raised above an explicit key,
// else nil.
func (c *Counter) Follower() numbering.Follower {
	f, _ := c.Numbers.(numbering.Follower)
	return f
}

// Forget closes the counter and removes it from its set: the next draw makes a new one.
func (c *Counter) Forget(ctx context.Context) error { return c.set.Forget(ctx, c.state, c) }

// Counters is the set of counters of one database, by the name of their state (their
// row in the store).
type Counters struct {
	mu     sync.Mutex
	All    map[string]*Counter
	closed bool

	turn   int64    // counts the calls that asked for a counter
	Claims sync.Map // maps the name of a claim's row to the keys.claimed of that row

	past  map[string]numbering.SourceState // the counts of counters that were closed, by the name of the source
	ended map[string]*Counter              // the counters that were open at Close, for the statistics
}

// NewCounters returns a set without counters.
func NewCounters() *Counters { return &Counters{All: map[string]*Counter{}} }

// Get returns the counter for a state (a stored counter, by its name). If there is
// none, create makes it. Goroutines may call Get at once for one state; the first
// counter that is made is kept.
func (c *Counters) Get(ctx context.Context, state string, create func() (*Counter, error)) (*Counter, error) {
	if one, err := c.known(state); one != nil || err != nil {
		return one, err
	}
	made, err := create()
	if err != nil {
		return nil, err
	}
	one := c.keep(state, made)
	if one == made {
		c.shed(ctx)
	}
	if one != made {
		// The set has kept another counter, or is closed, and no caller has drawn from this
		// one.
		if err := made.Numbers.Close(ctx); err != nil {
			return nil, err
		}
	}
	if one == nil {
		return nil, statestore.ErrMountClosed
	}
	return one, nil
}

func (c *Counters) known(state string) (*Counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, statestore.ErrMountClosed
	}
	one := c.All[state]
	if one != nil {
		c.turn++
		one.used = c.turn
	}
	return one, nil
}

// Forget closes a counter, and removes it from the set unless another one has replaced
// it.
func (c *Counters) Forget(ctx context.Context, state string, one *Counter) error {
	c.mu.Lock()
	if c.All[state] == one {
		delete(c.All, state)
		c.keepPast(one)
	}
	c.mu.Unlock()
	return one.Numbers.Close(ctx)
}

// keep adds made to the set under the name state, unless the set has a counter of that
// name already, and returns the counter that is in the set. It returns nil after Close.
func (c *Counters) keep(state string, made *Counter) *Counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if one := c.All[state]; one != nil {
		return one
	}
	c.turn++
	made.set, made.state, made.used = c, state, c.turn
	c.All[state] = made
	return made
}

// maxCounters is the greatest number of counters that are kept if the names of stored
// counters contain a value: new tenants may come all the time, and a counter takes a
// kilobyte and a half.
const maxCounters = 4096

// shed closes counters if there are more than maxCounters: a quarter of that number, of
// those whose names contain a value and that were not used for the longest time. Their
// reserved numbers become gaps; a stored counter that is asked for again continues
// where its row stands. A call that is about to draw from a closed counter gets
// keysource.ErrClosed, and asks for a new one.
func (c *Counters) shed(ctx context.Context) {
	c.mu.Lock()
	if len(c.All) <= maxCounters {
		c.mu.Unlock()
		return
	}
	var old []*Counter
	for _, one := range c.All {
		if one.OfValue {
			old = append(old, one)
		}
	}
	slices.SortFunc(old, func(a, b *Counter) int { return cmp.Compare(a.used, b.used) })
	old = old[:min(len(old), maxCounters/4)]
	for _, one := range old {
		delete(c.All, one.state)
		c.keepPast(one)
	}
	c.mu.Unlock()
	for _, one := range old {
		// Ignore the error: numbers that cannot be given back are gaps, and a lease expires.
		_ = one.Numbers.Close(ctx)
	}
}

// ForgetStates makes the counters give up what they have reserved, and discard what
// they know of their rows in the store. A snowflake is not changed, since time does not
// go back with a database.
func (c *Counters) ForgetStates(ctx context.Context) error {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.All))
	c.mu.Unlock()
	var errs []error
	for _, one := range all {
		switch n := one.Numbers.(type) {
		case *numbering.JoinedRow:
			n.Forget()
		case *numbering.Scoped:
			n.Proven.Forget()
			n.Joined.Forget()
		case *numbering.BlockSequence, *numbering.Recycled:
			errs = append(errs, one.Forget(ctx))
		case *numbering.EngineSequence:
			n.Suspect()
		}
	}
	return errors.Join(errs...)
}

// Suspect makes all counters give up the numbers that they have reserved.
func (c *Counters) Suspect() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.All))
	c.mu.Unlock()
	for _, one := range all {
		one.Numbers.Suspect()
	}
}

// Close closes all counters. A call that waits for a key returns an error.
func (c *Counters) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	all := c.All
	if all != nil {
		c.All, c.ended = nil, all
	}
	c.mu.Unlock()
	// Close all at once, since each of them waits if its store does not answer.
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, one := range all {
		wg.Go(func() {
			err := one.Numbers.Close(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// AddTo adds the figures of the open counters, and the counts of the closed ones, to s.
func (c *Counters) AddTo(s *numbering.Sums) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.past {
		s.Add(one)
	}
	for _, one := range c.All {
		s.AddNumbers(one.Numbers, numbering.StateOf(one.Source, one.Numbers, s.Now))
	}
	for _, one := range c.ended {
		s.AddNumbers(one.Numbers, numbering.StateOf(one.Source, one.Numbers, s.Now).Done())
	}
}

// keepPast keeps the counts of a counter that is about to be closed. The caller holds
// c.mu.
func (c *Counters) keepPast(one *Counter) {
	if one.Source == "" {
		return
	}
	past, known := c.past[one.Source]
	if !known {
		past = numbering.SourceState{Source: one.Source, Worker: -1}
	}
	past.Add(numbering.StateOf(one.Source, one.Numbers, time.Now()).Done())
	if c.past == nil {
		c.past = map[string]numbering.SourceState{}
	}
	c.past[one.Source] = past
}

// RecycledOn returns the counters that take series (leased runs of integers) on the
// statements' connections.
func (c *Counters) RecycledOn() []*numbering.Recycled {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*numbering.Recycled
	for _, one := range c.All {
		if r, ok := one.Numbers.(*numbering.Recycled); ok && r.Row != nil {
			found = append(found, r)
		}
	}
	return found
}

// SuspectWithin records that a number was in use within the parent of one of these
// rows, if the counter numbers rows within parents.
func (c *Counter) SuspectWithin(ctx context.Context, rows [][]driver.Value) {
	if s, ok := c.Numbers.(*numbering.Scoped); ok {
		s.SuspectWithin(ctx, rows)
	}
}
