package counting

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/keysource"
)

// ReserveOn does what [Recycled.Reserve] does, for a source that reserves on the
// statements' connections; a source that has a store of its own ignores at. Integers that
// are reserved already come first, while the lease lasts: their reservation has committed,
// so they may be used inside a transaction too. If they do not suffice, the store is asked
// through at.Transact, on the calling goroutine, while no lock is held:
//
//	at.Open   reserves                    keeps             if rolled back
//	false     a block, or n of Block 1    the rest of it    cannot happen
//	true      n integers                  nothing           undone with the transaction
//
// Nothing that is done inside a transaction is remembered, not even a series
// that was taken over or opened there: once the transaction has committed, the
// next call finds the series in the store.
//
// The errors are the ones that [Recycled.Reserve] returns; [keysource.ErrNoConnection] if
// at.Transact is nil; [keysource.ErrStoreDown] if the store has changed again and again
// during the call; and any other error of at as it is. After an error the store is not
// asked again.
func (s *Recycled) ReserveOn(ctx context.Context, n int64, at SeriesAt) (int64, error) {
	if err := fits(n, s.seriesN); err != nil {
		return 0, err
	}
	if !s.onConn {
		return s.Reserve(ctx, n)
	}
	// Ask again only if other requests have taken the renewed integers, or Drop was
	// called meanwhile.
	for {
		first, c, err := s.askOn(n, at)
		if c == nil || err != nil {
			return first, err
		}
		began := s.now()
		err = at.Transact(ctx, func(st keysource.SeriesStore) error {
			c.store = st
			return c.run(ctx)
		})
		c.noteOn(began, err)
		if first, err = s.settleOn(n, at, c, err); err != nil || first > 0 {
			return first, err
		}
	}
}

// askOn returns the first of n integers that are reserved already, an error, or the claim
// (an attempt to reserve) to make.
func (s *Recycled) askOn(n int64, at SeriesAt) (int64, *claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch first, ok := s.take(n, now); {
	case s.closed:
		return 0, nil, keysource.ErrClosed
	case ok:
		return first, nil, nil
	case s.fault != nil && !s.probeDue(now):
		return 0, nil, s.fault
	case at.Transact == nil:
		return 0, nil, keysource.ErrNoConnection
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

// claimOn returns a new claim (an attempt to get integers) for a statement's connection.
func (s *Recycled) claimOn(need, want int64, at SeriesAt) *claim {
	c := newClaim(s, need, want)
	c.maxKey = at.MaxKey
	s.order.asking++
	return c
}

// settleOn stores the result of a claim (an attempt to get integers). It returns the first
// of n integers, an error, or neither if the store has to be asked again.
func (s *Recycled) settleOn(n int64, at SeriesAt, c *claim, err error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.order.asked()
	switch {
	case s.closed:
		return 0, keysource.ErrClosed
	case err != nil:
		return 0, s.failOn(c, err)
	case s.order.gives(c.got):
		// Another claim has been given the same integers, so the store has gone back (its
		// counter is lower than before) in between. The next attempt detects that.
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

// failOn stores the error of a claim (an attempt to get integers) whose transaction was
// rolled back, and returns the error of the request.
func (s *Recycled) failOn(c *claim, err error) error {
	switch {
	case c.fault || errors.Is(err, keysource.ErrStoreBack):
		s.discard()
		s.fault, s.probed = err, s.now()
	case errors.Is(err, errUnsteady):
		s.failure = err
		return down(nil, err)
	case !errors.Is(err, keysource.ErrExhausted):
		s.failure = err
	}
	return err
}

// AdvanceOn does what [Recycled.Advance] does, for a source that reserves on the
// statements' connections; a source that has a store of its own ignores at. It asks the
// store only if the store may open a series (a range of integers) below to, and returns the
// store's error as it is. An advance inside a transaction may be rolled back, so later
// calls repeat it.
func (s *Recycled) AdvanceOn(ctx context.Context, to int64, at SeriesAt) error {
	if !s.onConn {
		return s.Advance(ctx, to)
	}
	known, err := s.follow(to)
	switch {
	case known || err != nil:
		return err
	case at.Transact == nil:
		return keysource.ErrNoConnection
	}
	err = at.Transact(ctx, func(st keysource.SeriesStore) error { return st.Advance(ctx, to) })
	if err == nil && !at.Open {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end = max(s.end, to)
	}
	return err
}

// CloseOn does what [Recycled.Close] does, and gives the unused integers back on a
// connection that has no open transaction.
func (s *Recycled) CloseOn(ctx context.Context, at SeriesAt) error {
	if err := s.Close(ctx); err != nil || !s.onConn || at.Transact == nil || at.Open {
		return err
	}
	held, to := s.rest()
	if held.First == 0 {
		return nil
	}
	return at.Transact(ctx, func(st keysource.SeriesStore) error { return st.GiveUp(ctx, held, to) })
}

// SeriesAt gives a call access to the series (a range of integers) through a statement's
// own connection. Only the call that gets it uses it, on the calling goroutine.
type SeriesAt struct {
	// Transact calls f with the store on that connection, in one transaction. If none
	// is open, it begins one, and commits it after f or rolls it back if f returns an
	// error. Otherwise f runs as a part of the open transaction. Transact is nil if
	// there is no connection.
	Transact func(ctx context.Context, f func(keysource.SeriesStore) error) error

	// MaxKey is [RecycledOptions].MaxKey, on that connection.
	MaxKey func(ctx context.Context, from, to int64) (int64, error)

	// Open reports whether a transaction is open on that connection, or may be.
	Open bool
}
