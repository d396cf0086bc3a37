package counting

//row:changes | the state of a worker's lease | `internal/counting/snowflake_leased.go`; its row `internal/store/series/rows.go`; the row of a worker's mark `internal/store/worker`

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

// LeasedOptions configures where a [Leased] gets its worker's number. All fields but
// Lease must be set.
type LeasedOptions struct {
	// Store leases the numbers. A number n is a series (a range of integers) of the single
	// integer n+1, which is never used up. The store's counter ends at the last number.
	Store keysource.SeriesStore

	// Lease is for how long a number belongs to this source after a renewal, as in
	// [RecycledOptions]. It must be the lease of the store.
	Lease time.Duration

	// Open returns the source of a worker's number. The source needs a [keysource.Marker],
	// since nothing else keeps the keys of two processes apart when each believes that the
	// other has ended. Open does no I/O.
	Open func(worker int) (*Snowflake, error)
}

// Leased makes the keys of a [Snowflake] whose worker's number it leases from a store:
// the lowest number that no other process has. Each number has a row in the store.
//
// A number is leased by the server's clock. Requests renew the lease after a third of
// it. After three quarters, by the source's own clock and counted from before the
// renewal was sent, they wait until the lease is renewed or another number is leased.
// So a process that is stopped for longer has another number when it goes on, and the
// number of a killed process is free for others when the lease has run out;
// [Leased.Close] gives the number up at once, unless it is called while the store is
// asked. A number whose mark is more than ten seconds ahead of the clock is left for
// another one.
//
// A request that has waited looks at the lease again before it returns keys.
//
// # No key twice
//
// That does not rest on leases: a process can be stopped between a look at the clock and
// the INSERT. Two processes that have one number, one after the other or for a moment at
// once, are kept apart by the [keysource.Marker] of the number, as processes with a given
// number are. Keys ascend within the source also where its number changes.
//
// It is safe for concurrent use and holds no lock while it waits. It has a
// goroutine while it asks the store.
type Leased struct {
	store keysource.SeriesStore
	open  func(worker int) (*Snowflake, error)
	lease time.Duration
	now   func() time.Time

	patience time.Duration                        // how long a request waits for the store
	waited   func(context.Context, time.Duration) // is called after each wait, with its length

	mu      sync.Mutex       // guards the fields below; never held while the store is asked
	held    keysource.Series // the leased number; First is 0 without a lease
	flake   *Snowflake       // the source of the leased number; nil without a lease
	sent    time.Time        // when the last renewal was sent
	claim   *leaseClaim
	limit   time.Duration // the time limit of the next claim (attempt to get a lease); 0 means the least limit
	pause   time.Duration // how long to wait before the next claim (attempt to get a lease), after one that failed
	failure error         // the error of the last claim (attempt to get a lease); nil after an answer
	closed  bool

	// shunned holds the numbers that are not used because their marks (the times up to
	// which keys may exist) are far ahead of the clock: the mark by Series.First.
	shunned map[int64]time.Time

	meter fetching.Meter // measures the calls to the store of the leases, and to the Marker of every number

	last int64 // the greatest key of the sources that were closed; used by the claim alone
}

// maxShunned is how many numbers are left out at most because of their marks.
const maxShunned = 16

// leaseClaim is one attempt to renew the lease of a number, or to lease another number.
type leaseClaim struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the claim has ended
	err    error         // returned to the requests that wait for this attempt; set before done is closed
}

// NewLeased returns a source with a leased number. It does no I/O: the first request
// does. Of env it does not use Rand. Its error wraps [keysource.ErrOptions].
func NewLeased(o LeasedOptions, env keysource.Env) (*Leased, error) {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	switch {
	case o.Store == nil || o.Open == nil:
		return nil, anchor.Endf("%w: a leased number needs a store and a source", keysource.ErrOptions)
	case o.Lease < 10*time.Millisecond:
		return nil, anchor.Endf("%w: a lease of %s, which is less than 10ms", keysource.ErrOptions, o.Lease)
	}
	l := &Leased{store: o.Store, open: o.Open, lease: o.Lease, now: env.Now, patience: patience(env), waited: waited(env), shunned: map[int64]time.Time{}}
	if l.now == nil {
		l.now = time.Now
	}
	return l, nil
}

// Reserve returns the first of n consecutive integers of the leased number's source, see
// [Snowflake.Reserve]. It also returns [keysource.ErrWorkerTaken] if other processes have
// all numbers, and [keysource.ErrStoreDown] if the store has not answered for ten seconds,
// or until the context ended, while there was no lease.
func (l *Leased) Reserve(ctx context.Context, n int64) (int64, error) {
	for {
		flake, err := l.leased(ctx)
		if err != nil {
			return 0, err
		}
		first, waited, err := flake.reserve(ctx, n)
		switch {
		case errors.Is(err, keysource.ErrClosed) && l.replaced(flake),
			errors.Is(err, keysource.ErrClock) && l.shun(flake):
			continue // with another number
		case err != nil || !waited:
			return first, err
		}
		// The lease may have run out while the process was stopped or the store was
		// slow. Then the keys must not be used, unless the store confirms that this
		// process still has the number.
		still, err := l.leased(ctx)
		if err != nil {
			return 0, err
		}
		if still == flake {
			return first, nil
		}
	}
}

// replaced reports whether the source now uses another Snowflake than flake, or is
// about to.
func (l *Leased) replaced(flake *Snowflake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.flake != flake
}

// shun gives up a worker number whose mark, up to which its time is reserved, is far
// ahead of the clock, because a process whose clock was ahead had it: no key can be
// made with the number for a while. It reports whether there may be another number.
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
		l.flake, l.held = nil, keysource.Series{} // the store's lease runs out by its time
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = flake.Close(ended) // does not wait, as the context has ended
	}
	return true
}

// leased returns the source of a number whose lease lasts. It waits if there is no such
// number.
func (l *Leased) leased(ctx context.Context) (*Snowflake, error) {
	var impatient <-chan time.Time
	for {
		flake, c, err := l.current()
		if flake != nil || err != nil {
			return flake, err
		}
		if impatient == nil {
			began, t := time.Now(), time.NewTimer(l.patience)
			defer t.Stop()
			defer func() { l.waited(ctx, time.Since(began)) }()
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

// current returns the source while the lease lasts, otherwise the claim (the attempt to
// get a lease) to wait for. It begins a claim if the lease has to be renewed.
func (l *Leased) current() (*Snowflake, *leaseClaim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, keysource.ErrClosed
	}
	// If the clock was set back, age is negative, and the lease is not relied on.
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

// leave returns the error of a request that stops waiting. cause is the context's error, or
// nil if the patience (the longest wait for the store) has ended.
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

// isFinal reports whether asking the store again at once does not help.
func isFinal(err error) bool {
	for _, final := range []error{keysource.ErrStoreState, keysource.ErrStoreBack, keysource.ErrOptions, keysource.ErrWorkerTaken, keysource.ErrClock, keysource.ErrExhausted, keysource.ErrClosed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// run is the goroutine of a claim (an attempt to get a lease): after a pause it renews the
// lease or leases another number.
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
	// A claim makes several calls, and the first claim also looks up the store's
	// tables.
	held, limit := l.held, max(l.limit, 4*minLimit)
	l.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := limited.Err() // set if Close was called
	now, sent := held, time.Time{}
	if err == nil {
		began := l.now()
		now, sent, err = l.ask(limited, held)
		ended := l.now()
		l.meter.Note(ended, ended.Sub(began), 0, 0, err)
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

// ask renews the lease of the number that is held, or leases another one. It returns
// the number, and the time before the call to the store was sent.
func (l *Leased) ask(ctx context.Context, held keysource.Series) (now keysource.Series, sent time.Time, err error) {
	for range claimTries + maxShunned {
		if held.First == 0 {
			// The store may have leased a number to an earlier attempt whose answer was
			// lost.
			if held, err = l.store.Own(ctx); err != nil {
				return keysource.Series{}, sent, err
			}
			if l.shuns(held) {
				held = keysource.Series{}
			}
		}
		sent = l.now()
		if held.First > 0 {
			now, moved, err := l.store.Move(ctx, held, held.Next)
			if err != nil || moved {
				return held, sent, err
			}
			if held = (keysource.Series{}); now.Own {
				held = now // the row as the store has it now
			}
			continue
		}
		if held, err = l.store.TakeOver(ctx, 1); err == nil && held.First == 0 {
			held, err = l.store.Open(ctx, 0)
		}
		switch {
		case errors.Is(err, keysource.ErrExhausted) && l.shunsAny():
			return keysource.Series{}, sent, anchor.Endf("%w: it is more than ten seconds behind the keys of the free workers, and all others are leased: set it right, or wait", keysource.ErrClock)
		case errors.Is(err, keysource.ErrExhausted):
			return keysource.Series{}, sent, anchor.Endf("%w: all numbers are leased: wait until a process ends, or for %v after one was killed, or give worker more bits", keysource.ErrWorkerTaken, l.lease)
		case err != nil || !l.shuns(held):
			return held, sent, err
		}
		held = keysource.Series{} // this number stays leased for a while, so that the store gives another one next
	}
	return keysource.Series{}, sent, errUnsteady
}

// shuns reports whether a worker's number is not used because its mark (the time up to
// which a worker may make keys) is far ahead of the clock.
func (l *Leased) shuns(held keysource.Series) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark, shunned := l.shunned[held.First]
	return shunned && !l.reached(mark)
}

// shunsAny reports whether any number is not used because of its mark (the time up to which
// a worker may make keys).
func (l *Leased) shunsAny() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.shunned) > 0
}

// reached reports whether the clock is at most ten seconds before the mark (the time up to
// which a worker may make keys) of a number.
func (l *Leased) reached(mark time.Time) bool {
	return mark.Sub(l.now()) <= snowflakeBehind*time.Millisecond
}

// follow makes the source use the number that the process has now. The Snowflake of the
// previous number is closed first, so that all later keys come after its last key.
func (l *Leased) follow(ctx context.Context, now keysource.Series) error {
	l.mu.Lock()
	old := l.flake
	if old != nil && now.First == l.held.First {
		l.mu.Unlock()
		return nil
	}
	l.flake, l.held = nil, now // requests wait for the end of the claim (the attempt to get a lease)
	l.mu.Unlock()
	if old != nil {
		// Close waits for a call to the Marker, whose context it cancels.
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
		err = keysource.ErrClosed
	}
	if err != nil {
		return errors.Join(err, next.Close(ctx))
	}
	l.flake = next
	return nil
}

// Drop gives up the time that is reserved for the leased number, see [Snowflake.Drop].
func (l *Leased) Drop() {
	l.mu.Lock()
	flake := l.flake
	l.mu.Unlock()
	if flake != nil {
		flake.Drop()
	}
}

// Close makes requests fail with [keysource.ErrClosed] and gives the number back. It waits
// for a claim in progress, and for the store, until ctx ends. If it fails, with the error
// of ctx or of the store, the lease runs out by its time. It may be called again.
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
	l.flake, l.held = nil, keysource.Series{}
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
	// Snowflake is the state of the source of the leased number; its Fetching includes
	// the calls for leases. If there is no number, its Worker is -1 and the rest is
	// zero.
	Snowflake SnowflakeStats

	Lease     time.Duration
	LeaseHeld bool      // whether the lease surely lasts
	Until     time.Time // when the lease ends unless it is renewed; zero without a lease
	Err       error     // the error of the last claim (attempt to get a lease); nil after an answer
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
