package counting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

const (
	// A store that fails is asked again after a pause, which doubles from minPause to
	// maxPause. So a store that works again is noticed within two seconds, if a round trip
	// takes less than one second.
	minPause = 50 * time.Millisecond
	maxPause = time.Second

	// An attempt that gets no answer within a limit is given up, and the next one has
	// twice the time, from minLimit to maxLimit, since opening a connection may take
	// long. See begins.
	minLimit = time.Second
	maxLimit = 8 * time.Second
)

// fetcher is the common part of a [Sequence] and a [Recycled]: the requests that wait,
// the goroutine that asks the store (the database with the counter) for integers, and
// the errors of a store that does not answer as it should.
type fetcher struct {
	now      func() time.Time
	patience time.Duration                        // how long a request waits for the store
	waited   func(context.Context, time.Duration) // is called after each wait, with its length
	onConn   bool                                 // no goroutine asks the store: each call passes the connection to use

	fast time.Duration // the limit of an attempt while the store answers fast

	mu sync.Mutex // guards the fields below, and the fields of the source; never held while the store is asked

	queue []*waiter // the waiting requests, in order of arrival
	fetch *fetch    // the goroutine that asks the store, or nil
	limit time.Duration
	waits int64

	fault   error     // why the store must not be used in its present state, or nil
	probed  time.Time // when fault was last found, or when the store's engine last refused a request
	failure error     // the error of the last attempt; nil if the store has answered it
	closed  bool

	meter fetching.Meter // measures how the store answers

	drops int64 // how often reserved integers were given up
	order order // the order of reservations on several connections
}

// fetch is the goroutine that asks the store. There is at most one, started when
// integers are needed. It ends when no more are needed, on an error that asking again
// does not cure, and on Close.
type fetch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	void   bool          // Drop was called during this attempt, so its integers are not used; guarded by the source's mu
}

// start starts the goroutine f.fetch. It calls attempt until attempt returns on as
// false, and pauses between two calls unless answered is true. The caller holds mu, as
// for the functions below.
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

// begins sets the time limit of the first attempt, and of each attempt while the store
// answers fast: a tenth of the patience (how long a request waits), from minLimit to
// maxLimit. An attempt that is given up may have reserved integers, which are then lost, so
// a source whose requests wait longer gives an attempt more time.
func (f *fetcher) begins() {
	f.fast = min(max(f.patience/10, minLimit), maxLimit)
	f.limit = f.fast
}

// adapt changes the time limit of the next attempt: doubled if the attempt that has ended
// was given up as late, and halved if it took less than a quarter of the limit.
func (f *fetcher) adapt(took time.Duration, late bool) {
	switch {
	case late:
		f.limit = min(2*f.limit, maxLimit)
	case took < f.limit/4:
		f.limit = max(f.limit/2, f.fast)
	}
}

// refusedLately reports whether the store's engine has refused less than probeInterval
// ago.
func (f *fetcher) refusedLately(now time.Time) bool {
	return f.failure != nil && errors.Is(f.failure, keysource.ErrStoreRefused) && !f.probeDue(now)
}

// probeDue reports whether a store that must not be used, or whose engine refuses, may
// be asked again: after probeInterval, or if the clock was set back.
func (f *fetcher) probeDue(now time.Time) bool {
	d := now.Sub(f.probed)
	return d < 0 || d >= probeInterval
}

// await waits until the request is answered, or until the context or the patience (the
// longest wait for the store) ends. The caller does not hold mu.
func (f *fetcher) await(ctx context.Context, w *waiter) (int64, error) {
	began, t := time.Now(), time.NewTimer(f.patience)
	defer t.Stop()
	defer func() { f.waited(ctx, time.Since(began)) }()
	select {
	case <-w.done:
		return w.first, w.err
	case <-ctx.Done():
		return f.leave(w, ctx.Err())
	case <-t.C:
		return f.leave(w, nil)
	}
}

// leave ends the wait of a request and returns its error, or its answer if that has come
// just now. cause is the context's error, or nil if the patience (the longest wait for the
// store) has ended.
func (f *fetcher) leave(w *waiter, cause error) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.leave(cause, f.fault, f.failure)
}

// waiting returns how many integers the waiting requests need, or most if that is less.
// It removes the requests that have given up.
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

// dismiss answers all waiting requests with err.
func (f *fetcher) dismiss(err error) {
	for _, w := range f.queue {
		if !w.gone {
			w.answer(0, err)
		}
	}
	f.queue = nil
}

// shut closes the source: all requests fail, and the running fetch is cancelled. It
// returns that fetch, or nil.
func (f *fetcher) shut() *fetch {
	f.closed = true
	f.dismiss(keysource.ErrClosed)
	if f.fetch != nil {
		f.fetch.void = true
		f.fetch.cancel()
	}
	return f.fetch
}

// ended waits until the goroutine f has ended; f may be nil. The error is the
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
