package keysource

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// LeasedOptions say where a [Leased] has its worker's number from. All must be
// given but Lease.
type LeasedOptions struct {
	// Store leases the numbers: each is a series of one integer, the number plus
	// one, which is never used up. Its counter ends where there are no more.
	Store SeriesStore

	// Lease means the same as in [RecycledOptions], and has to be the lease of
	// the store.
	Lease time.Duration

	// Open returns the source of a number. It needs a [Marker], since nothing else
	// keeps the keys of two processes apart of which each takes the other for
	// ended. It does no I/O.
	Open func(worker int) (*Snowflake, error)
}

// Leased makes the keys of a [Snowflake] whose worker's number no other process
// has: the lowest one that is free, of which each number has a row in the store.
//
// A number is leased by the server's clock. Requests renew the lease after a third
// of it, and stop at three quarters, by the source's own clock and from the moment
// before the renewal was sent, until it has been renewed, or another number been
// leased. So a process that is stopped for longer has another number when it goes
// on, and one that is killed leaves its own to others when the lease has run out;
// [Leased.Close] gives the number up at once, unless it comes while the store is
// asked. A number whose mark is more than ten seconds ahead of the clock is left for
// another one.
//
// A request that has waited looks at the lease again before it returns keys.
//
// # No key twice
//
// That does not rest on leases: a process can be stopped between a look at the
// clock and the INSERT. Two processes that have one number, one after the other or
// for a moment at once, are kept apart by the [Marker] of the number, as processes
// with a given number are. Keys ascend within the source also where its number
// changes.
//
// It is safe for concurrent use and holds no lock while it waits. It has a
// goroutine while it asks the store.
type Leased struct {
	store SeriesStore
	open  func(worker int) (*Snowflake, error)
	lease time.Duration
	now   func() time.Time

	patience time.Duration // of a request
	waited   func(ctx context.Context, began time.Time)

	mu      sync.Mutex // guards the fields below; never held while the store is asked
	held    Series     // First is 0 without a lease
	flake   *Snowflake // of held; nil without a lease
	sent    time.Time  // when the last renewal was sent
	claim   *leaseClaim
	limit   time.Duration // of the next claim; 0: the least
	pause   time.Duration // before the next claim, after one that failed
	failure error         // of the last claim; nil after an answer
	closed  bool

	// shunned are the numbers, as series, whose marks are far ahead, and these.
	shunned map[int64]time.Time

	meter Meter // of the store of the leases, and of the Marker of every number

	last int64 // the greatest key of those that were closed; the claim's alone
}

// maxShunned is how many numbers are left because of their marks.
const maxShunned = 16

// leaseClaim is one attempt to renew the lease, or to get another one.
type leaseClaim struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // for the requests that wait for the claim; set before done is closed
}

// NewLeased returns a source with a leased number. It does no I/O: the first
// request does. Of env it uses the clock. It returns [ErrOptions].
func NewLeased(o LeasedOptions, env Env) (*Leased, error) {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	switch {
	case o.Store == nil || o.Open == nil:
		return nil, anchor.Endf("%w: a leased number needs a store and a source", ErrOptions)
	case o.Lease < 10*time.Millisecond:
		return nil, anchor.Endf("%w: a lease of %s, which is less than 10ms", ErrOptions, o.Lease)
	}
	l := &Leased{store: o.Store, open: o.Open, lease: o.Lease, now: env.Now, patience: env.patience(), waited: env.waited(), shunned: map[int64]time.Time{}}
	if l.now == nil {
		l.now = time.Now
	}
	return l, nil
}

// Reserve is [Snowflake.Reserve] of the source of the leased number. It also
// returns [ErrWorkerTaken] when others have all numbers, and [ErrStoreDown] when
// the store has not answered for ten seconds, or until the context ended, while
// there was no lease.
func (l *Leased) Reserve(ctx context.Context, n int64) (int64, error) {
	for {
		flake, err := l.leased(ctx)
		if err != nil {
			return 0, err
		}
		first, waited, err := flake.reserve(ctx, n)
		switch {
		case errors.Is(err, ErrClosed) && l.replaced(flake),
			errors.Is(err, ErrClock) && l.shun(flake):
			continue // with another number
		case err != nil || !waited:
			return first, err
		}
		// The lease may have run out while the process was stopped or the store was slow.
		// Then the keys must not be used, unless the store confirms that the number still
		// is ours.
		still, err := l.leased(ctx)
		if err != nil {
			return 0, err
		}
		if still == flake {
			return first, nil
		}
	}
}

// replaced reports whether the source goes on without flake.
func (l *Leased) replaced(flake *Snowflake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.flake != flake
}

// shun gives up a worker number whose mark is far ahead, because a process whose clock
// was ahead had it: no key can be made with it for a while. It reports whether there may
// be another number.
func (l *Leased) shun(flake *Snowflake) bool {
	mark, overtaken := flake.overtaken()
	if !overtaken {
		return l.replaced(flake)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.shunned, func(_ int64, mark time.Time) bool { return l.reached(mark) })
	switch {
	case l.closed || l.flake == flake && len(l.shunned) == maxShunned:
		return false
	case l.flake == flake:
		l.shunned[l.held.First] = mark
		l.flake, l.held = nil, Series{} // its lease expires unrenewed
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = flake.Close(ended) // which is not waited for
	}
	return true
}

// leased returns the source of a number whose lease lasts, and waits for one.
func (l *Leased) leased(ctx context.Context) (*Snowflake, error) {
	var impatient <-chan time.Time
	for {
		flake, c, err := l.current()
		if flake != nil || err != nil {
			return flake, err
		}
		if impatient == nil {
			t := time.NewTimer(l.patience)
			defer t.Stop()
			defer l.waited(ctx, time.Now())
			impatient = t.C
		}
		select {
		case <-c.done:
			if c.err != nil {
				return nil, c.err
			}
		case <-ctx.Done():
			return nil, l.leave(ctx.Err())
		case <-impatient:
			return nil, l.leave(nil)
		}
	}
}

// current returns the source while the lease lasts, else the claim to wait for.
// It begins one where the lease is to be renewed.
func (l *Leased) current() (*Snowflake, *leaseClaim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, ErrClosed
	}
	// A clock that was set back says nothing.
	age := l.now().Sub(l.sent)
	lasts := l.flake != nil && age >= 0 && age < l.lease-l.lease/marginShare
	if (!lasts || age >= l.lease/renewShare) && l.claim == nil {
		ctx, cancel := context.WithCancel(context.Background())
		l.claim = &leaseClaim{cancel: cancel, done: make(chan struct{})}
		go l.run(ctx, l.claim, l.pause)
	}
	if lasts {
		return l.flake, nil, nil
	}
	return nil, l.claim, nil
}

// leave returns the error of a request whose context ended with cause, or whose
// patience did if that is nil.
func (l *Leased) leave(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure == nil && cause != nil:
		return cause
	case isFinal(l.failure):
		return l.failure
	}
	return down(cause, l.failure)
}

// isFinal reports whether asking again at once does not help.
func isFinal(err error) bool {
	for _, final := range []error{ErrStoreState, ErrStoreBack, ErrOptions, ErrWorkerTaken, ErrClock, ErrExhausted, ErrClosed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// run is the goroutine of a claim.
func (l *Leased) run(ctx context.Context, c *leaseClaim, pause time.Duration) {
	defer close(c.done)
	defer c.cancel()
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	l.mu.Lock()
	// A claim has several calls, the first one those that find the tables.
	held, limit := l.held, max(l.limit, 4*minLimit)
	l.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := limited.Err() // of Close
	now, sent := held, time.Time{}
	if err == nil {
		began := l.now()
		now, sent, err = l.ask(limited, held)
		ended := l.now()
		l.meter.note(ended, ended.Sub(began), 0, 0, err)
	}
	if err == nil {
		err = l.follow(ctx, now)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.claim = nil
	if err == nil {
		l.failure, l.pause, l.limit = nil, 0, 0
		l.held, l.sent = now, sent
		return
	}
	if limited.Err() != nil {
		l.limit = min(2*limit, maxLimit)
	}
	l.failure, l.pause = err, min(max(2*l.pause, minPause), maxPause)
	if isFinal(err) {
		c.err = err
	}
}

// ask renews the lease of the number that is held, or leases another one, and
// returns it with the moment before that was sent.
func (l *Leased) ask(ctx context.Context, held Series) (now Series, sent time.Time, err error) {
	for range claimTries + maxShunned {
		if held.First == 0 {
			// The series of an attempt whose answer was lost.
			if held, err = l.store.Own(ctx); err != nil {
				return Series{}, sent, err
			}
			if l.shuns(held) {
				held = Series{}
			}
		}
		sent = l.now()
		if held.First > 0 {
			now, moved, err := l.store.Move(ctx, held, held.Next)
			if err != nil || moved {
				return held, sent, err
			}
			if held = (Series{}); now.Own {
				held = now // as it is
			}
			continue
		}
		if held, err = l.store.TakeOver(ctx, 1); err == nil && held.First == 0 {
			held, err = l.store.Open(ctx, 0)
		}
		switch {
		case errors.Is(err, ErrExhausted) && l.shunsAny():
			return Series{}, sent, anchor.Endf("%w: it is more than ten seconds behind the keys of the free workers, and all others are leased: set it right, or wait", ErrClock)
		case errors.Is(err, ErrExhausted):
			return Series{}, sent, anchor.Endf("%w: all numbers are leased: wait until a process ends, or for %v after one was killed, or give worker more bits", ErrWorkerTaken, l.lease)
		case err != nil || !l.shuns(held):
			return held, sent, err
		}
		held = Series{} // it is ours for a while, so that the next one is another
	}
	return Series{}, sent, errUnsteady
}

// shuns reports whether a number is of no use.
func (l *Leased) shuns(held Series) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark, shunned := l.shunned[held.First]
	return shunned && !l.reached(mark)
}

// shunsAny reports whether there is a number of no use.
func (l *Leased) shunsAny() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.shunned) > 0
}

// reached reports whether the clock has come to a mark.
func (l *Leased) reached(mark time.Time) bool {
	return mark.Sub(l.now()) <= snowflakeBehind*time.Millisecond
}

// follow makes the source use the number that the process has now. The one
// before it is closed first, so that all keys of the next one come after its
// last.
func (l *Leased) follow(ctx context.Context, now Series) error {
	l.mu.Lock()
	old := l.flake
	if old != nil && now.First == l.held.First {
		l.mu.Unlock()
		return nil
	}
	l.flake, l.held = nil, now // requests wait for the end of the claim
	l.mu.Unlock()
	if old != nil {
		// It waits for a call to the Marker whose context has ended.
		err := old.Close(ctx)
		l.last = max(l.last, old.retire())
		if err != nil {
			return err
		}
	}
	next, err := l.open(int(now.First - 1))
	if err != nil {
		return err
	}
	next.meter = &l.meter
	l.mu.Lock()
	defer l.mu.Unlock()
	if err = next.Above(l.last); err == nil && l.closed {
		err = ErrClosed
	}
	if err != nil {
		return errors.Join(err, next.Close(ctx))
	}
	l.flake = next
	return nil
}

// Drop is [Snowflake.Drop].
func (l *Leased) Drop() {
	l.mu.Lock()
	flake := l.flake
	l.mu.Unlock()
	if flake != nil {
		flake.Drop()
	}
}

// Close makes requests fail with [ErrClosed] and gives the number back. It waits for a
// claim in progress, and for the store, until ctx ends. It returns the error of ctx or of
// the store; then the lease expires unrenewed. It may be called again.
func (l *Leased) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	c := l.claim
	l.mu.Unlock()
	if c != nil {
		c.cancel()
		select {
		case <-c.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	flake, held := l.flake, l.held
	l.flake, l.held = nil, Series{}
	l.mu.Unlock()
	if flake != nil {
		if err := flake.Close(ctx); err != nil {
			return err
		}
	}
	if held.First == 0 {
		return nil
	}
	if err := l.store.GiveUp(ctx, held, held.Next); err != nil {
		return down(ctx.Err(), err)
	}
	return nil
}

// LeasedStats is the state of a [Leased] at one moment.
type LeasedStats struct {
	// Snowflake is the state of the source of the leased number; its Fetching has the
	// calls for leases too. Its Worker is -1 where there is no number, and the rest is
	// zero then.
	Snowflake SnowflakeStats

	Lease     time.Duration
	LeaseHeld bool      // the lease lasts for sure
	Until     time.Time // when the lease ends unless it is renewed; zero without a lease
	Err       error     // the error of the last claim; nil after an answer
}

// Stats returns the state of the source. It does no I/O.
func (l *Leased) Stats() LeasedStats {
	l.mu.Lock()
	flake, held, sent := l.flake, l.held, l.sent
	st := LeasedStats{Lease: l.lease, Err: l.failure, Snowflake: SnowflakeStats{Worker: -1}}
	l.mu.Unlock()
	now := l.now()
	if flake != nil {
		st.Snowflake = flake.Stats()
	}
	st.Snowflake.Fetching = l.meter.Fetching(now, 0)
	if held.First > 0 {
		age := now.Sub(sent)
		st.Until = sent.Add(l.lease)
		st.LeaseHeld = flake != nil && age >= 0 && age < l.lease-l.lease/marginShare
	}
	return st
}
