package counting

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// join returns the first of n integers, an error, or a waiter that will get either.
func (s *Recycled) join(n int64) (int64, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch first, ok := s.take(n, now); {
	case s.closed:
		return 0, nil, keysource.ErrClosed
	case ok:
		s.refill(now)
		return first, nil, nil
	case s.fault != nil && s.fetch == nil && !s.probeDue(now):
		return 0, nil, s.fault
	case s.fetch == nil && s.refusedLately(now):
		return 0, nil, s.failure
	}
	w := &waiter{n: n, done: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.waits++
	s.refill(now)
	return 0, w, nil
}

// storeError returns the error of a call to the store that was not made for a waiting
// request.
func storeError(ctx context.Context, err error) error {
	if errors.Is(err, keysource.ErrStoreState) {
		return err
	}
	return down(ctx.Err(), err)
}

// take takes n of the integers that are reserved and not handed out, if the lease still
// lasts. The caller holds mu, as for the functions below.
func (s *Recycled) take(n int64, now time.Time) (int64, bool) {
	if s.closed || !s.leased(now) {
		return 0, false
	}
	return s.hand.pick(n)
}

// refill starts a fetch (the goroutine that asks the store) if one is needed and none
// is running.
func (s *Recycled) refill(now time.Time) {
	if s.fetch != nil {
		return
	}
	if _, _, needed := s.needs(now); !needed {
		return
	}
	s.start(s.once)
}

// needs returns how many integers to ask the store for, at least and at most, and
// whether to ask it at all.
func (s *Recycled) needs(now time.Time) (need, want int64, needed bool) {
	want = s.waiting(s.seriesN)
	switch {
	case s.closed || s.onConn:
		return 0, 0, false
	case len(s.queue) > 0:
		need = s.queue[0].n
		if s.held.First > 0 && !s.leased(now) && s.hand.hold(need) {
			return 0, 0, true // only the lease has to be renewed: the integers that are reserved already suffice
		}
		if s.exact {
			return need, want, true
		}
		return need, s.size.atLeast(want, s.seriesN), true
	case s.fault != nil || s.failure != nil || s.held.First == 0:
		return 0, 0, false
	case !s.exact && s.held.Next <= s.held.Last && s.hand.count() < s.size.n/2:
		// The rest of a nearly used-up series (a range of integers) is reserved first: once
		// the source has another series, it cannot give this rest back.
		return 1, s.size.n, true
	}
	return 0, 0, s.renewable(now)
}

// once makes a claim, which is an attempt to get integers, if one is needed.
func (s *Recycled) once(ctx context.Context, _ *fetch) (answered, on bool) {
	c, limit, ok := s.begin()
	if !ok {
		return false, false
	}
	began := s.now()
	late, err := c.attempt(ctx, limit)
	return err == nil, s.settle(c, err, late, s.now().Sub(began))
}

// attempt runs the claim (an attempt to get integers) with a time limit, and reports
// whether it failed because the limit was too short.
func (c *claim) attempt(ctx context.Context, limit time.Duration) (late bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = c.run(ctx)
	return err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded), err
}

// begin returns the next claim (an attempt to get integers), or false if none is needed,
// which ends the fetch.
func (s *Recycled) begin() (*claim, time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	need, want, needed := s.needs(s.now())
	if !needed {
		s.fetch = nil
		return nil, 0, false
	}
	c := newClaim(s, need, want)
	c.store, c.maxKey = s.store, s.maxKey
	return c, s.limit, true
}

// settle stores the result of a claim (an attempt to get integers), and reports whether to
// ask the store again; if not, the fetch has ended.
func (s *Recycled) settle(c *claim, err error, late bool, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adapt(took, late)
	now := s.now()
	s.meter.Note(now, took, c.got.n, s.hand.count(), err)
	final := false
	if err == nil {
		s.hand.keep(s.accept(c))
		s.serveHand()
	} else {
		s.note(c)
		final = s.fail(c, err, now)
	}
	if _, _, needed := s.needs(now); final || !needed {
		s.fetch = nil
		return false
	}
	return true
}

// fail stores the error of a claim (an attempt to get integers), and reports whether it is
// final. If it is, fail has answered the waiting requests with it.
func (s *Recycled) fail(c *claim, err error, now time.Time) bool {
	switch {
	case c.fault || errors.Is(err, keysource.ErrStoreBack):
		s.fault, s.probed = err, now
		s.dismiss(err)
	case errors.Is(err, keysource.ErrExhausted):
		// The remaining integers may be enough for the next request.
		if len(s.queue) == 0 {
			return true
		}
		if w := s.queue[0]; !w.gone && w.n >= c.need {
			w.answer(0, err)
			s.queue = s.queue[1:]
		}
		s.serveHand()
		return false
	case s.fault != nil:
		// The store must not be used, and this probe of it has failed: all waiting
		// requests get the error.
		s.probed = now
		s.dismiss(s.fault)
	case errors.Is(err, keysource.ErrStoreState):
		s.failure, s.probed = err, now
		s.dismiss(err)
	default:
		s.failure = err
		return false
	}
	return true
}

// serveHand answers the waiting requests from the integers that are reserved and not handed
// out.
func (s *Recycled) serveHand() {
	s.serve(func(w *waiter) bool {
		first, ok := s.hand.pick(w.n)
		if ok {
			w.answer(first, nil)
		}
		return ok
	})
	if s.exact && s.queue == nil {
		s.hand = nil
	}
}
