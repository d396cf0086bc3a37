package keysource

import (
	"context"
	"errors"
	"slices"
	"time"
)

// wait gets n integers.
func (s *Recycled) wait(ctx context.Context, n int64) (int64, error) {
	first, w, err := s.enqueue(n)
	if w == nil {
		return first, err
	}
	return w.await(ctx, s.patience, s.leave)
}

// enqueue returns n integers, an error, or a waiter that will have either.
func (s *Recycled) enqueue(n int64) (int64, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch first, ok := s.take(n, now); {
	case s.closed:
		return 0, nil, ErrClosed
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

func (s *Recycled) leave(w *waiter, cause error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.leave(cause, s.fault, s.failure)
}

// storeError returns the error of a call for the store that is nobody's request.
func (s *Recycled) storeError(ctx context.Context, err error) error {
	if errors.Is(err, ErrStoreState) {
		return err
	}
	return down(ctx.Err(), err)
}

// take takes n integers of what is in hand, while the lease lasts. The caller
// holds mu, as for what follows.
func (s *Recycled) take(n int64, now time.Time) (int64, bool) {
	if s.closed || !s.leased(now) {
		return 0, false
	}
	return s.pick(n)
}

// pick is take where the store has just answered.
func (s *Recycled) pick(n int64) (int64, bool) {
	for i, r := range s.hand {
		if r.n >= n {
			s.hand[i] = run{r.first + n, r.n - n}
			s.tidy()
			return r.first, true
		}
	}
	return 0, false
}

// tidy forgets what is empty.
func (s *Recycled) tidy() {
	s.hand = slices.DeleteFunc(s.hand, func(r run) bool { return r.n == 0 })
}

// keep adds a run to what is in hand.
func (s *Recycled) keep(r run) {
	if r.n == 0 {
		return
	}
	for i, h := range s.hand {
		if h.meets(r) {
			s.hand[i].n += r.n
			return
		}
	}
	if len(s.hand) == maxRuns {
		s.hand = slices.Delete(s.hand, 0, 1) // a gap
	}
	s.hand = append(s.hand, r)
}

// inHand returns how many integers are in hand.
func (s *Recycled) inHand() int64 {
	var n int64
	for _, r := range s.hand {
		n += r.n
	}
	return n
}

// leased reports whether the lease lasts for sure. A clock that was set back
// says nothing.
func (s *Recycled) leased(now time.Time) bool {
	d := now.Sub(s.sent)
	return s.held.First > 0 && d >= 0 && d < s.lease-s.lease/marginShare
}

// renewable reports whether it is time to renew the lease.
func (s *Recycled) renewable(now time.Time) bool {
	d := now.Sub(s.sent)
	return s.held.First > 0 && (d < 0 || d >= s.lease/renewShare)
}

// refusedLately reports whether the store's engine has refused a moment ago.
func (s *Recycled) refusedLately(now time.Time) bool {
	return s.failure != nil && errors.Is(s.failure, ErrStoreRefused) && !s.probeDue(now)
}

// probeDue reports whether a store that must not be used may be asked again. A
// clock that was set back makes it so.
func (s *Recycled) probeDue(now time.Time) bool {
	d := now.Sub(s.probed)
	return d < 0 || d >= probeInterval
}

// refill starts a fetch if one is needed and none is in flight, at a request.
func (s *Recycled) refill(now time.Time) {
	if s.fetch != nil {
		return
	}
	if _, _, needed := s.needs(now); !needed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	s.fetch = f
	go s.run(ctx, f)
}

// needs returns what to ask the store for, and whether to ask it.
func (s *Recycled) needs(now time.Time) (need, want int64, needed bool) {
	s.queue = slices.DeleteFunc(s.queue, func(w *waiter) bool { return w.gone })
	switch {
	case s.closed || s.onConn:
		return 0, 0, false
	case len(s.queue) > 0:
		need = s.queue[0].n
		if s.held.First > 0 && !s.leased(now) && slices.ContainsFunc(s.hand, func(r run) bool { return r.n >= need }) {
			return 0, 0, true // what is in hand will do
		}
		for _, w := range s.queue {
			want += min(w.n, s.seriesN-want)
		}
		if s.exact {
			return need, want, true
		}
		return need, s.size.atLeast(want, s.seriesN), true
	case s.fault != nil || s.failure != nil || s.held.First == 0:
		return 0, 0, false
	case !s.exact && s.held.Next <= s.held.Last && s.inHand() < s.size.n/2:
		// The rest of a used-up series comes first: once another one is taken,
		// it cannot be given back.
		return 1, s.size.n, true
	}
	return 0, 0, s.renewable(now)
}

// run asks the store until nothing is needed.
func (s *Recycled) run(ctx context.Context, f *fetch) {
	defer close(f.done)
	defer f.cancel()
	for pause := minPause; ; {
		c, limit, ok := s.begin()
		if !ok {
			return
		}
		began := s.now()
		late, err := c.attempt(ctx, limit)
		if !s.settle(c, err, late, s.now().Sub(began)) {
			return
		}
		if err == nil {
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
}

// attempt runs the claim within a time, and reports whether that was too short.
func (c *claim) attempt(ctx context.Context, limit time.Duration) (late bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = c.run(ctx)
	return err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded), err
}

// begin returns the next claim, or ends the fetch.
func (s *Recycled) begin() (*claim, time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	need, want, needed := s.needs(s.now())
	if !needed {
		s.fetch = nil
		return nil, 0, false
	}
	c := s.claim(need, want)
	c.store, c.maxKey = s.store, s.maxKey
	return c, s.limit, true
}

// settle takes in what has become of a claim, and reports whether to ask again;
// if not, the fetch has ended.
func (s *Recycled) settle(c *claim, err error, late bool, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case late:
		s.limit = min(2*s.limit, maxLimit)
	case took < s.limit/4:
		s.limit = max(s.limit/2, minLimit)
	}
	now := s.now()
	final := false
	if err == nil {
		s.keep(s.accept(c))
		s.serve()
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

// fail takes in the error of a claim, and reports whether it is final for those
// who wait, who have been answered then.
func (s *Recycled) fail(c *claim, err error, now time.Time) bool {
	switch {
	case c.fault || errors.Is(err, ErrStoreBack):
		s.fault, s.probed = err, now
		s.dismiss(err)
	case errors.Is(err, ErrExhausted):
		// What is left may be enough for the next one.
		if len(s.queue) == 0 {
			return true
		}
		if w := s.queue[0]; !w.gone && w.n >= c.need {
			w.answer(0, err)
			s.queue = s.queue[1:]
		}
		s.serve()
		return false
	case s.fault != nil:
		// Whoever waits has waited for one probe.
		s.probed = now
		s.dismiss(s.fault)
	case errors.Is(err, ErrStoreState):
		s.failure, s.probed = err, now
		s.dismiss(err)
	default:
		s.failure = err
		return false
	}
	return true
}

// serve answers those who wait, in order of arrival, from what is in hand.
func (s *Recycled) serve() {
	for i, w := range s.queue {
		if w.gone {
			continue
		}
		first, ok := s.pick(w.n)
		if !ok {
			s.queue = slices.Delete(s.queue, 0, i)
			return
		}
		w.answer(first, nil)
	}
	s.queue = nil
	if s.exact {
		s.hand = nil
	}
}

// dismiss answers all who wait with an error.
func (s *Recycled) dismiss(err error) {
	for _, w := range s.queue {
		if !w.gone {
			w.answer(0, err)
		}
	}
	s.queue = nil
}
