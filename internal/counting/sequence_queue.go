package counting

import (
	"cmp"
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// defaultPatience is how long a request waits for the store if its context does not
// end before, and [keysource.Env].StoreWait does not say otherwise.
const defaultPatience = 10 * time.Second

// waiter is a request that waits for integers from the store.
type waiter struct {
	n    int64
	done chan struct{} // closed when the request has been answered

	// The fields below are guarded by the source's mu, and constant after done is
	// closed.
	answered, gone bool
	first          int64
	err            error
	after          int64 // how many attempts to fetch had been begun before the request
}

func (w *waiter) answer(first int64, err error) {
	w.answered, w.first, w.err = true, first, err
	close(w.done)
}

// leave ends the wait of a request and returns its error, or its answer if that has come
// just now. cause is the context's error, or nil if the patience (the longest wait for the
// store) has ended. fault is why the store must not be used, and failure its last error;
// both may be nil. The caller holds the source's mu.
func (w *waiter) leave(cause, fault, failure error) (int64, error) {
	if w.answered {
		return w.first, w.err
	}
	w.gone = true
	switch {
	case fault != nil && cause != nil:
		return 0, anchor.Endf("%w: %w", fault, cause)
	case fault != nil:
		return 0, fault
	case failure == nil && cause != nil:
		return 0, cause
	}
	return 0, down(cause, failure)
}

// join returns the first of n integers, an error, or a waiter that will get either.
func (s *Sequence) join(n int64) (int64, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, nil, keysource.ErrClosed
	}
	if first, ok := s.take(n); ok {
		s.refill()
		return first, nil, nil
	}
	if s.spent && s.onBack != keysource.RemedyWarn || n > s.max {
		return 0, nil, s.exhausted()
	}
	if s.fault != nil && s.fetch == nil && !s.probeDue(s.now()) {
		return 0, nil, s.fault
	}
	if s.fetch == nil && s.failure != nil && s.refusedLately(s.now()) {
		return 0, nil, s.failure
	}
	w := &waiter{n: n, done: make(chan struct{}), after: s.attempts}
	s.queue = append(s.queue, w)
	s.waits++
	s.refill()
	return 0, w, nil
}

// down returns the error for a store that has failed. cause is the context's error and
// last the store's; either may be nil. The store's error is formatted and not wrapped,
// see [keysource.ErrStoreDown].
func down(cause, last error) error {
	err := keysource.ErrStoreDown
	if cause != nil {
		err = anchor.Endf("%w: %w", err, cause)
	}
	if last != nil {
		err = anchor.Endf("%w; the last error was: %v", err, last)
	}
	return err
}

// serveStock answers the waiting requests from the integers that are reserved and not
// handed out. The caller holds mu, as for the functions below.
func (s *Sequence) serveStock() {
	s.serve(func(w *waiter) bool {
		first, ok := s.take(w.n)
		switch {
		case ok:
			w.answer(first, nil)
		case s.spent:
			w.answer(0, s.exhausted())
		default:
			return false
		}
		return true
	})
}

// errApart is returned for a statement of several rows if the store's integers are not
// consecutive, see [keysource.Reservation].
var errApart = anchor.Endf("%w: the servers of its cluster take turns with its integers: insert one row at a time, or take kind sequence", keysource.ErrStoreState)

// refuseRuns answers the requests for more than one integer with an error.
func (f *fetcher) refuseRuns() {
	for _, w := range f.queue {
		if w.n > 1 && !w.gone {
			w.answer(0, errApart)
			w.gone = true
		}
	}
	f.waiting(0) // removes the answered requests
}

// waited returns e.Waited, or a function that does nothing if that is nil.
func waited(e keysource.Env) func(context.Context, time.Duration) {
	if e.Waited == nil {
		return func(context.Context, time.Duration) {}
	}
	return e.Waited
}

// patience returns how long a request waits for the store: e.StoreWait, or ten seconds if
// that is zero.
func patience(e keysource.Env) time.Duration { return cmp.Or(e.StoreWait, defaultPatience) }
