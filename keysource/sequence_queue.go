package keysource

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// defaultPatience is how long a request waits for the store if its context does not
// end before, and [Env].StoreWait does not say otherwise.
const defaultPatience = 10 * time.Second

// waiter is a request that waits for a block.
type waiter struct {
	n    int64
	done chan struct{} // closed when it has been answered

	// Guarded by the source's mu; once done is closed nobody writes them.
	answered, gone bool
	first          int64
	err            error
	after          int64 // the attempts to fetch that had been begun before it came
}

func (w *waiter) answer(first int64, err error) {
	w.answered, w.first, w.err = true, first, err
	close(w.done)
}

// await waits for the answer until the context or the patience ends, and then
// returns what leave does, whose cause is nil for the patience.
func (w *waiter) await(ctx context.Context, patience time.Duration, leave func(w *waiter, cause error) (int64, error)) (int64, error) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-w.done:
		return w.first, w.err
	case <-ctx.Done():
		return leave(w, ctx.Err())
	case <-t.C:
		return leave(w, nil)
	}
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
		return 0, fmt.Errorf("%w: %w", fault, cause)
	case fault != nil:
		return 0, fault
	case failure == nil && cause != nil:
		return 0, cause
	}
	return 0, down(cause, failure)
}

// wait gets n integers that the block in hand does not have.
func (s *Sequence) wait(ctx context.Context, n int64) (int64, error) {
	first, w, err := s.enqueue(n)
	if w == nil {
		return first, err
	}
	return w.await(ctx, s.patience, s.leave)
}

// enqueue returns n integers, an error, or a waiter that will have either.
func (s *Sequence) enqueue(n int64) (int64, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, nil, ErrClosed
	}
	if first, ok := s.take(n); ok {
		s.refill()
		return first, nil, nil
	}
	if s.spent || n > s.max {
		return 0, nil, s.exhausted()
	}
	if s.fault != nil && s.fetch == nil && !s.probeDue() {
		return 0, nil, s.fault
	}
	if s.fetch == nil && s.refusedLately() {
		return 0, nil, s.failure
	}
	w := &waiter{n: n, done: make(chan struct{}), after: s.attempts}
	s.queue = append(s.queue, w)
	s.waits++
	s.refill()
	return 0, w, nil
}

func (s *Sequence) leave(w *waiter, cause error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.leave(cause, s.fault, s.failure)
}

// down returns the error for a store that has failed with last, if anything,
// before the context ended with cause, if it did. What the store has failed
// with is formatted and not wrapped, see [ErrStoreDown].
func down(cause, last error) error {
	err := ErrStoreDown
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if last != nil {
		err = fmt.Errorf("%w; the last error was: %v", err, last)
	}
	return err
}

// exhausted returns the error for a request that cannot be met any more.
func (s *Sequence) exhausted() error {
	return fmt.Errorf("%w: no run of that length is left up to %d; the remedy is %s",
		ErrExhausted, s.max, s.atEnd)
}

// take takes n integers of what is in hand. The caller holds mu, as for all
// that follows.
func (s *Sequence) take(n int64) (int64, bool) {
	for {
		b := s.current.Load()
		if used, ok := b.take(n); ok {
			return b.first + used, true
		}
		within := s.spare.n
		if left := b.left(); left.meets(s.spare) {
			within += left.n
		}
		if s.spare.n == 0 || n > within {
			return 0, false
		}
		s.turn()
	}
}

// turn puts the spare run into use, joined with what is left of the block in
// hand if they meet. Else that is a gap: handed out later it would break the
// order.
func (s *Sequence) turn() {
	b, now := s.current.Load(), s.now()
	if b.n > 0 {
		s.size.lasted(now.Sub(b.begun))
	}
	next := s.spare
	s.spare = run{}
	if left := b.seal(); left.meets(next) {
		next = run{left.first, left.n + next.n}
	}
	s.current.Store(newBlock(next, now))
}

// keep puts a run that has been reserved behind what is in hand.
func (s *Sequence) keep(r run) {
	switch {
	case r.n == 0:
	case s.spare.n == 0:
		s.spare = r
	case s.spare.meets(r):
		s.spare.n += r.n
	default:
		// The spare run was too short for a request that waits.
		s.turn()
		s.spare = r
	}
}

// serve answers those who wait, in order of arrival, from what is in hand.
func (s *Sequence) serve() {
	for i, w := range s.queue {
		if w.gone {
			continue
		}
		first, ok := s.take(w.n)
		switch {
		case ok:
			w.answer(first, nil)
		case s.spent:
			w.answer(0, s.exhausted())
		default:
			s.queue = slices.Delete(s.queue, 0, i)
			return
		}
	}
	s.queue = nil
}

// serveFrom answers those who wait from r, if they have waited since before an
// attempt. What is left is nobody's: somebody who came later must not get it
// while another process has a greater key. The store has more.
func (s *Sequence) serveFrom(r run, attempt int64) {
	for i, w := range s.queue {
		switch {
		case w.gone:
		case w.n > r.n || w.after >= attempt:
			s.queue = slices.Delete(s.queue, 0, i)
			return
		default:
			w.answer(r.first, nil)
			r = run{r.first + w.n, r.n - w.n}
		}
	}
	s.queue = nil
}

// dismiss answers all who wait with an error.
func (s *Sequence) dismiss(err error) {
	for _, w := range s.queue {
		if !w.gone {
			w.answer(0, err)
		}
	}
	s.queue = nil
}

// errApart is for a statement of several rows at a store whose integers do not
// follow each other.
var errApart = fmt.Errorf("%w: on a cluster whose servers give out the integers of its sequence by turns a statement gets one key: insert one row at a time, or take kind sequence", ErrStoreState)

// refuseRuns answers those who wait for more than one integer.
func (s *Sequence) refuseRuns() {
	for _, w := range s.queue {
		if w.n > 1 && !w.gone {
			w.answer(0, errApart)
			w.gone = true
		}
	}
	s.waiting() // which forgets them
}

// waiting returns how many integers are waited for, s.max at most, and forgets
// those who have left.
func (s *Sequence) waiting() int64 {
	s.queue = slices.DeleteFunc(s.queue, func(w *waiter) bool { return w.gone })
	var sum int64
	for _, w := range s.queue {
		sum += min(w.n, s.max-sum)
	}
	return sum
}
