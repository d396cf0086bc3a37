package keysource

import (
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// defaultPatience is how long a request waits for the store if its context does not
// end before, and [Env].StoreWait does not say otherwise.
const defaultPatience = 10 * time.Second

// waiter is a request that waits for a block.
type waiter struct {
	n    int64
	done chan struct{} // closed when it has been answered

	// Guarded by the source's mu, and constant after done is closed.
	answered, gone bool
	first          int64
	err            error
	after          int64 // the attempts to fetch that had been begun before it came
}

func (w *waiter) answer(first int64, err error) {
	w.answered, w.first, w.err = true, first, err
	close(w.done)
}

// leave ends the wait of a request whose context ended with cause, or whose
// patience did if that is nil, at a source whose store must not be used because
// of fault, or has failed last with failure. If it has been answered just now,
// that counts. The caller holds the source's mu.
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

// join returns n integers, an error, or a waiter that will have either.
func (s *Sequence) join(n int64) (int64, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, nil, ErrClosed
	}
	if first, ok := s.take(n); ok {
		s.refill()
		return first, nil, nil
	}
	if s.spent && s.onBack != RemedyWarn || n > s.max {
		return 0, nil, s.exhausted()
	}
	if s.fault != nil && s.fetch == nil && !s.probeDue(s.now()) {
		return 0, nil, s.fault
	}
	if s.fetch == nil && s.failure != nil && s.refusedLately(s.now()) {
		return 0, nil, s.failure
	}
	w := s.enqueue(n, s.attempts)
	s.refill()
	return 0, w, nil
}

// down returns the error for a store that has failed with last, if anything, before the
// context ended with cause, if it did. The store's error is formatted and not wrapped,
// see [ErrStoreDown].
func down(cause, last error) error {
	err := ErrStoreDown
	if cause != nil {
		err = anchor.Endf("%w: %w", err, cause)
	}
	if last != nil {
		err = anchor.Endf("%w; the last error was: %v", err, last)
	}
	return err
}

// serveStock answers the waiting requests from the integers in hand. The caller holds mu,
// as for the functions below.
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

// serveFrom answers waiting requests from r, if they have waited since before an attempt.
// The rest of r is dropped: a request that came later must not get it while another
// process has a greater key. The store has more.
func (s *Sequence) serveFrom(r run, attempt int64) {
	s.serve(func(w *waiter) bool {
		if w.n > r.n || w.after >= attempt {
			return false
		}
		w.answer(r.first, nil)
		r = run{r.first + w.n, r.n - w.n}
		return true
	})
}

// errApart is returned for a statement of several rows where the store's
// integers do not follow each other.
var errApart = anchor.Endf("%w: the servers of its cluster take turns with its integers: insert one row at a time, or take kind sequence", ErrStoreState)

// refuseRuns answers the requests that wait for more than one integer.
func (f *fetcher) refuseRuns() {
	for _, w := range f.queue {
		if w.n > 1 && !w.gone {
			w.answer(0, errApart)
			w.gone = true
		}
	}
	f.waiting(0) // which forgets them
}
