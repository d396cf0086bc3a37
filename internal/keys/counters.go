package keys

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// counter is an integer source with a state of a name.
type counter struct {
	numbers numbers

	// mapping makes keys of the numbers; nil: they are the keys.
	mapping keysource.Mapping
	warned  atomic.Bool // that most of them are used

	// home is the table that the state numbers, as it is stored; "" when it may be
	// several.
	home string

	// bound are the columns of a state that has none of its own; nil for others.
	bound *bound

	// claimer names the state for which the columns are claimed; nil where its row
	// says which they are.
	claimer claimer

	// set and state are where it is kept, and under which name.
	set   *Counters
	state string

	ofValue bool  // its state is one of as many as there are values: tenants, say
	used    int64 // when it was last asked for, by its set's count; guarded by that

	// unseen says why the catalog did not show the table when the counter was made;
	// nil: the catalog showed it.
	unseen error
}

// numbers are what a counter gives: sequence, snowflake, recycled, joinedRow and scoped
// are its kinds.
type numbers interface {
	// reserve returns the first of n consecutive integers.
	reserve(ctx context.Context, g *Conn, n int64) (int64, error)

	// suspect gives up what is reserved, since a key of it was found in use: what
	// comes next is compared with the greatest key, where that can be asked for.
	suspect()

	// close gives back what is reserved and leased.
	close(ctx context.Context) error
}

// Follower is numbers that can be raised above a key that was brought.
type Follower interface {
	numbers

	// Advance makes later keys to or greater.
	Advance(ctx context.Context, g *Conn, to int64) error

	// IsOnConnection reports whether the state is read and written on the connection
	// of each statement, as on SQLite.
	IsOnConnection() bool

	// IsJoined reports whether numbers belong to the transactions of their INSERTs.
	IsJoined() bool
}

// Follower returns the counter's numbers if they can be raised, else nil.
func (c *counter) Follower() Follower {
	f, _ := c.numbers.(Follower)
	return f
}

// reserve returns the first of n consecutive integers.
func (c *counter) reserve(ctx context.Context, g *Conn, n int64) (int64, error) {
	if g != nil && len(g.doubts) > 0 {
		if d, ok := g.doubts[c]; ok {
			return c.reserveAbove(ctx, g, n, d)
		}
	}
	return c.numbers.reserve(ctx, g, n)
}

// forget closes the counter; the next one of its state is made anew.
func (c *counter) forget(ctx context.Context) error { return c.set.forget(ctx, c.state, c) }

// leavePatience is how long a store is waited for that is to take a lease back.
const leavePatience = 2 * time.Second

// leave closes a source that has a lease. A store that does not take it back is no
// error: it runs out by itself.
func leave(ctx context.Context, source interface{ Close(context.Context) error }) error {
	limited, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if err := source.Close(limited); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// Counters are the counters of one database, by the name of their state.
type Counters struct {
	mu     sync.Mutex
	all    map[string]*counter
	closed bool

	turn   int64    // counts what was asked for
	claims sync.Map // claimed, by the name of the row
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

// maxCounters is how many counters are kept of states whose names hold a value: those
// of tenants come all the time, and each takes a kilobyte and a half.
const maxCounters = 4096

// shed closes a quarter of the counters where there are more than maxCounters: those
// that were not used for the longest time. What they have reserved is a gap; a state
// that is asked for again begins where its row stands. Whoever is about to draw from
// one gets keysource.ErrClosed, and the counter that is made anew.
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
	}
	c.mu.Unlock()
	for _, one := range old {
		// What cannot be given back is a gap, or its lease runs out.
		_ = one.numbers.close(ctx)
	}
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
	c.all = nil
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
