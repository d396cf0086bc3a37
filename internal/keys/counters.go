package keys

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

	"github.com/keyfill/keyfill/keysource"
)

// counter is an integer source over the state of one name.
type counter struct {
	numbers numbers

	// mapping makes keys of the numbers; nil: they are the keys.
	mapping keysource.Mapping
	warned  atomic.Bool // that most of them are used

	// warnAt is the number from which on most are used, and remedy is what helps then. A
	// number less than 1 stands for a counter that does not end, or whose keys do: they
	// have a mapping.
	warnAt int64
	remedy string

	// raise returns the statement that makes the numbers begin at to or above; nil where
	// next_value in keyfill_sequences says it.
	raise func(to int64) string

	// home is the table that the state numbers, as the catalog names it; "" where the
	// state may number several.
	home string

	// bound are the columns of a shared state; nil for others.
	bound *bound

	// claimer names the state for which columns are claimed; nil where the state's row
	// names its columns.
	claimer claimer

	// use notes in these claims that the state is used; nil where nothing is to be noted.
	use *usedState

	source string // the name of the source in statistics; "" for no source's

	// ends says from where on keys are another state's; nil where they never are.
	ends endingState

	// set keeps the counter, under the name state.
	set   *Counters
	state string

	ofValue bool  // the name of its state holds a value, such as a tenant's
	used    int64 // the set's turn when it was last asked for; guarded by the set's mu

	// unseen says why the catalog did not show the table when the counter was made;
	// nil: the catalog showed it.
	unseen error
}

// Follower returns the counter's numbers if they can be raised, else nil.
func (c *counter) Follower() Follower {
	f, _ := c.numbers.(Follower)
	return f
}

// forget closes the counter; the next one of its state is made anew.
func (c *counter) forget(ctx context.Context) error { return c.set.forget(ctx, c.state, c) }

// Counters are the counters of one database, by the name of their state.
type Counters struct {
	mu     sync.Mutex
	all    map[string]*counter
	closed bool

	turn   int64    // counts the calls that asked for a counter
	claims sync.Map // claimed, by the name of the row

	past  map[string]SourceState // of counters that were closed, by the name of the source
	ended map[string]*counter    // that were there at close, for the statistics
}

func newCounters() *Counters { return &Counters{all: map[string]*counter{}} }

// get returns the counter of a state, which create makes if there is none. It
// may be called by several for one state; the first one's result is kept.
func (c *Counters) get(ctx context.Context, state string, create func() (*counter, error)) (*counter, error) {
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
		// Nobody has drawn from it.
		if err := made.numbers.close(ctx); err != nil {
			return nil, err
		}
	}
	if one == nil {
		return nil, errMountClosed
	}
	return one, nil
}

func (c *Counters) known(state string) (*counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errMountClosed
	}
	one := c.all[state]
	if one != nil {
		c.turn++
		one.used = c.turn
	}
	return one, nil
}

// forget takes a counter away, unless another one has its place, and closes it.
func (c *Counters) forget(ctx context.Context, state string, one *counter) error {
	c.mu.Lock()
	if c.all[state] == one {
		delete(c.all, state)
		c.keepPast(one)
	}
	c.mu.Unlock()
	return one.numbers.close(ctx)
}

// keep returns the counter that is used from now on, nil after close.
func (c *Counters) keep(state string, made *counter) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if one := c.all[state]; one != nil {
		return one
	}
	c.turn++
	made.set, made.state, made.used = c, state, c.turn
	c.all[state] = made
	return made
}

// maxCounters bounds the counters that are kept where the names of states hold a value:
// new tenants may come all the time, and a counter takes a kilobyte and a half.
const maxCounters = 4096

// shed closes counters where there are more than maxCounters: a quarter of that number,
// and the ones that were not used for the longest time. Their reserved numbers become
// gaps; a state that is asked for again begins where its row stands. A caller who is
// about to draw from a closed counter gets keysource.ErrClosed, and asks for a new one.
func (c *Counters) shed(ctx context.Context) {
	c.mu.Lock()
	if len(c.all) <= maxCounters {
		c.mu.Unlock()
		return
	}
	var old []*counter
	for _, one := range c.all {
		if one.ofValue {
			old = append(old, one)
		}
	}
	slices.SortFunc(old, func(a, b *counter) int { return cmp.Compare(a.used, b.used) })
	old = old[:min(len(old), maxCounters/4)]
	for _, one := range old {
		delete(c.all, one.state)
		c.keepPast(one)
	}
	c.mu.Unlock()
	for _, one := range old {
		// Numbers that cannot be given back are gaps, and a lease runs out.
		_ = one.numbers.close(ctx)
	}
}

// forgetStates makes the counters give up what they have reserved, and forget how far their
// states have come. A snowflake goes on, since time does not go back with a database.
func (c *Counters) forgetStates(ctx context.Context) error {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.all))
	c.mu.Unlock()
	var errs []error
	for _, one := range all {
		switch n := one.numbers.(type) {
		case *joinedRow:
			n.forget()
		case *scoped:
			n.proven.forget()
			n.joined.forget()
		case *blockSequence, *recycled:
			errs = append(errs, one.forget(ctx))
		case *engineSequence:
			n.suspect()
		}
	}
	return errors.Join(errs...)
}

// suspect makes all counters give up what they have reserved.
func (c *Counters) suspect() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.all))
	c.mu.Unlock()
	for _, one := range all {
		one.numbers.suspect()
	}
}

// close closes all counters; what waits for a key gets an error.
func (c *Counters) close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	all := c.all
	if all != nil {
		c.all, c.ended = nil, all
	}
	c.mu.Unlock()
	// All at once: a store that does not answer makes each of them wait.
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, one := range all {
		wg.Go(func() {
			err := one.numbers.close(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// addTo adds the states of the open counters, and the counts of the closed ones.
func (c *Counters) addTo(s *sums) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.past {
		s.add(one)
	}
	for _, one := range c.all {
		s.addNumbers(one.numbers, stateOf(one.source, one.numbers, s.now))
	}
	for _, one := range c.ended {
		s.addNumbers(one.numbers, stateOf(one.source, one.numbers, s.now).done())
	}
}

// keepPast keeps the counts of a counter that is about to be closed. c.mu must be held.
func (c *Counters) keepPast(one *counter) {
	if one.source == "" {
		return
	}
	past, known := c.past[one.source]
	if !known {
		past = SourceState{Source: one.source, Worker: -1}
	}
	past.add(stateOf(one.source, one.numbers, time.Now()).done())
	if c.past == nil {
		c.past = map[string]SourceState{}
	}
	c.past[one.source] = past
}

// recycledOn returns the series that count on the statements' connections.
func (c *Counters) recycledOn() []*recycled {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*recycled
	for _, one := range c.all {
		if r, ok := one.numbers.(*recycled); ok && r.row != nil {
			found = append(found, r)
		}
	}
	return found
}

// SuspectWithin notes that a number of one of the rows' parents was in use, if the
// counter's numbers are within parents.
func (c *counter) SuspectWithin(rows [][]driver.Value) {
	if s, ok := c.numbers.(*scoped); ok {
		s.suspectWithin(rows)
	}
}
