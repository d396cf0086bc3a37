package keysource

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// A store that fails is asked again after a pause that doubles from the
	// first to the second: with a round trip of less than a second it is found
	// back within two.
	minPause = 50 * time.Millisecond
	maxPause = time.Second

	// An attempt that gets no answer is given up, and the next one has twice
	// the time, since opening a connection may take long. See firstLimit.
	minLimit = time.Second
	maxLimit = 8 * time.Second
)

// fetcher is the common part of a [Sequence] and a [Recycled]: the requests that
// wait, the goroutine that asks the store for them, and the state of a store that
// does not answer as it should.
type fetcher struct {
	now      func() time.Time
	patience time.Duration // of a request
	waited   func(ctx context.Context, began time.Time)
	onConn   bool // there is no fetch; the store comes with each call

	mu sync.Mutex // guards the fields below, and the source; never held while the store is asked

	queue []*waiter // in order of arrival
	fetch *fetch    // the one in flight, or nil
	limit time.Duration
	waits int64

	fault   error     // the store must not be used as it stands; nil: it may
	probed  time.Time // when that was last found, or that its engine refuses
	failure error     // of the last attempt; nil after an answer
	closed  bool

	meter Meter // how the store answers

	drops int64 // how often reserved integers were given up
	order order // of the reservations by calls on several connections
}

// fetch is the goroutine that asks the store. There is at most one, started when integers
// are needed. It ends when no more are needed, on an error that a retry does not cure,
// and on Close.
type fetch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	void   bool          // Drop was called in this attempt; guarded by the source's mu
}

// start starts the fetch. It calls attempt until that returns on as false, without a
// pause if answered is true. The caller holds mu, as for the functions below.
func (f *fetcher) start(attempt func(context.Context, *fetch) (answered, on bool)) {
	ctx, cancel := context.WithCancel(context.Background())
	running := &fetch{cancel: cancel, done: make(chan struct{})}
	f.fetch = running
	go func() {
		defer close(running.done)
		defer cancel()
		for pause := minPause; ; {
			answered, on := attempt(ctx, running)
			if !on {
				return
			}
			if answered {
				pause = minPause
				continue
			}
			t := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			t.Stop()
			pause = min(2*pause, maxPause)
		}
	}()
}

// firstLimit returns the limit of an attempt while the store answers fast: a tenth of the
// patience, within the bounds. An attempt that is given up may have reserved all the
// same, which is a gap, so a source that waits longer anyway gives up later.
func (f *fetcher) firstLimit() time.Duration {
	return min(max(f.patience/10, minLimit), maxLimit)
}

// adapt adapts the limit of the next attempt to one that took some time, or that
// was given up because it was too late.
func (f *fetcher) adapt(took time.Duration, late bool) {
	switch {
	case late:
		f.limit = min(2*f.limit, maxLimit)
	case took < f.limit/4:
		f.limit = max(f.limit/2, f.firstLimit())
	}
}

// refusedLately reports whether the store's engine has refused a moment ago.
func (f *fetcher) refusedLately(now time.Time) bool {
	return f.failure != nil && errors.Is(f.failure, ErrStoreRefused) && !f.probeDue(now)
}

// probeDue reports whether a store that must not be used, or whose engine
// refuses, may be asked again. A clock that was set back makes it so.
func (f *fetcher) probeDue(now time.Time) bool {
	d := now.Sub(f.probed)
	return d < 0 || d >= probeInterval
}

// enqueue makes a request for n integers wait; after is the number of attempts
// that were begun before it came.
func (f *fetcher) enqueue(n, after int64) *waiter {
	w := &waiter{n: n, done: make(chan struct{}), after: after}
	f.queue = append(f.queue, w)
	f.waits++
	return w
}

// await waits for the answer to a request until the context or the patience
// ends. The caller does not hold mu.
func (f *fetcher) await(ctx context.Context, w *waiter) (int64, error) {
	t := time.NewTimer(f.patience)
	defer t.Stop()
	defer f.waited(ctx, time.Now())
	select {
	case <-w.done:
		return w.first, w.err
	case <-ctx.Done():
		return f.leave(w, ctx.Err())
	case <-t.C:
		return f.leave(w, nil)
	}
}

// leave ends the wait of a request whose context ended with cause, or whose
// patience did if that is nil.
func (f *fetcher) leave(w *waiter, cause error) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.leave(cause, f.fault, f.failure)
}

// waiting returns how many integers are waited for, most at most, and forgets
// the requests that have left.
func (f *fetcher) waiting(most int64) int64 {
	f.queue = slices.DeleteFunc(f.queue, func(w *waiter) bool { return w.gone })
	var sum int64
	for _, w := range f.queue {
		sum += min(w.n, most-sum)
	}
	return sum
}

// serve calls answer for each waiting request, in order of arrival, until answer returns
// false.
func (f *fetcher) serve(answer func(w *waiter) bool) {
	for i, w := range f.queue {
		if w.gone {
			continue
		}
		if !answer(w) {
			f.queue = slices.Delete(f.queue, 0, i)
			return
		}
	}
	f.queue = nil
}

// dismiss answers all waiting requests with an error.
func (f *fetcher) dismiss(err error) {
	for _, w := range f.queue {
		if !w.gone {
			w.answer(0, err)
		}
	}
	f.queue = nil
}

// shut makes requests fail, and ends the fetch that is in flight. It returns that,
// or nil.
func (f *fetcher) shut() *fetch {
	f.closed = true
	f.dismiss(ErrClosed)
	if f.fetch != nil {
		f.fetch.void = true
		f.fetch.cancel()
	}
	return f.fetch
}

// ended waits until a fetch has ended, which may be nil. The error is the
// context's.
func (f *fetch) ended(ctx context.Context) error {
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
