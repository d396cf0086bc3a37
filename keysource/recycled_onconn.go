package keysource

import (
	"context"
	"errors"
)

// ReserveOn is [Recycled.Reserve] for a source on the statements' connections; one that
// has a store of its own ignores at. The integers in hand come first, while the lease
// lasts: their reservation has committed, so that they may be used inside a transaction
// too. Where it does not suffice, the store is asked through at.Transact, on the calling
// goroutine, while no lock is held:
//
//	at.Open   reserves             keeps                 rolled back
//	false     a block, or n of 1   what n leaves of it   cannot be
//	true      n                    nothing               with the transaction
//
// Nothing that is done inside a transaction is remembered, not even a series
// that was taken over or opened there: once the transaction has committed, the
// next call finds the series in the store.
//
// The errors are the ones that [Recycled.Reserve] returns, [ErrNoConnection] without at.Transact,
// [ErrStoreDown] where the store has changed again and again during the call,
// and any other error of at as it is. Nothing is asked again after an error.
func (s *Recycled) ReserveOn(ctx context.Context, n int64, at SeriesAt) (int64, error) {
	if err := fits(n, s.seriesN); err != nil {
		return 0, err
	}
	if !s.onConn {
		return s.Reserve(ctx, n)
	}
	// Once more if other requests have taken the renewed integers, or a Drop came
	// between.
	for {
		first, c, err := s.askOn(n, at)
		if c == nil || err != nil {
			return first, err
		}
		began := s.now()
		err = at.Transact(ctx, func(st SeriesStore) error {
			c.store = st
			return c.run(ctx)
		})
		c.noteOn(began, err)
		if first, err = s.settleOn(n, at, c, err); err != nil || first > 0 {
			return first, err
		}
	}
}

// askOn returns n of the integers in hand, an error, or the claim to make.
func (s *Recycled) askOn(n int64, at SeriesAt) (int64, *claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch first, ok := s.take(n, now); {
	case s.closed:
		return 0, nil, ErrClosed
	case ok:
		return first, nil, nil
	case s.fault != nil && !s.probeDue(now):
		return 0, nil, s.fault
	case at.Transact == nil:
		return 0, nil, ErrNoConnection
	}
	s.waits++
	if s.fault != nil {
		s.probed = now
	}
	enough := s.hand.hold(n)
	switch {
	case at.Open || s.exact:
		return 0, s.claimOn(n, n, at), nil
	case enough && s.held.First > 0:
		return 0, s.claimOn(0, 0, at), nil
	}
	return 0, s.claimOn(n, s.size.atLeast(n, s.seriesN), at), nil
}

// claimOn is newClaim on a statement's connection.
func (s *Recycled) claimOn(need, want int64, at SeriesAt) *claim {
	c := newClaim(s, need, want)
	c.maxKey = at.MaxKey
	s.order.asking++
	return c
}

// settleOn notes the result of a claim. It returns the first of n integers, an error, or
// neither if the store has to be asked again.
func (s *Recycled) settleOn(n int64, at SeriesAt, c *claim, err error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.order.asked()
	switch {
	case s.closed:
		return 0, ErrClosed
	case err != nil:
		return 0, s.failOn(c, err)
	case s.order.gives(c.got):
		// The store has gone back to where this claim had seen it, after another
		// one had got the same. The next attempt finds out.
		s.discard()
		return 0, nil
	case at.Open:
		if c.drops == s.drops && c.got.from(s.brought[c.held.First]).n == n {
			s.fetches++
			return c.got.first, nil
		}
		return 0, nil
	}
	if c.got.n > 0 {
		s.order.given = append(s.order.given, c.got)
	}
	r := s.accept(c)
	if c.need == 0 {
		first, _ := s.hand.pick(n)
		return first, nil
	}
	if r.n < n {
		s.hand.keep(r)
		return 0, nil
	}
	if !s.exact {
		s.hand.keep(run{r.first + n, r.n - n})
	}
	return r.first, nil
}

// failOn notes the error of a claim, which was undone, and returns the error of
// the request.
func (s *Recycled) failOn(c *claim, err error) error {
	switch {
	case c.fault || errors.Is(err, ErrStoreBack):
		s.discard()
		s.fault, s.probed = err, s.now()
	case errors.Is(err, errUnsteady):
		s.failure = err
		return down(nil, err)
	case !errors.Is(err, ErrExhausted):
		s.failure = err
	}
	return err
}

// AdvanceOn is [Recycled.Advance] for a source on the statements' connections;
// one that has a store of its own ignores at. It asks only if the store may open
// a series below to, and returns at's error as it is. An advance inside a
// transaction may be rolled back, so that later calls repeat it.
func (s *Recycled) AdvanceOn(ctx context.Context, to int64, at SeriesAt) error {
	if !s.onConn {
		return s.Advance(ctx, to)
	}
	known, err := s.follow(to)
	switch {
	case known || err != nil:
		return err
	case at.Transact == nil:
		return ErrNoConnection
	}
	err = at.Transact(ctx, func(st SeriesStore) error { return st.Advance(ctx, to) })
	if err == nil && !at.Open {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end = max(s.end, to)
	}
	return err
}

// CloseOn is [Recycled.Close] with a connection on which the rest can be given
// back: one on which no transaction is open.
func (s *Recycled) CloseOn(ctx context.Context, at SeriesAt) error {
	if err := s.Close(ctx); err != nil || !s.onConn || at.Transact == nil || at.Open {
		return err
	}
	held, to := s.rest()
	if held.First == 0 {
		return nil
	}
	return at.Transact(ctx, func(st SeriesStore) error { return st.GiveUp(ctx, held, to) })
}
