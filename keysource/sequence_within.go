package keysource

import (
	"context"
	"errors"
)

// ReserveWithin does what [Sequence.Reserve] does, for a source that has a store of its
// own, and for a statement whose transaction holds a lock that this store would wait
// for. The block in hand comes first. If it does not suffice, n integers are reserved
// through at, the statement's connection, once and on the calling goroutine, and none
// are kept: they belong to the transaction.
//
// The reservation is compared with the integers that the store has given so far, and is
// not added to them. Integers in hand below the transaction's become a gap. at.Open
// counts as true. It returns the errors of [Sequence.ReserveOn].
func (s *Sequence) ReserveWithin(ctx context.Context, n int64, at At) (int64, error) {
	if s.onConn {
		at.Open = true
		return s.ReserveOn(ctx, n, at)
	}
	if n < 1 {
		return 0, ErrCount
	}
	var a ask
	s.mu.Lock()
	closed := s.closed
	first, inHand := s.take(n)
	if !inHand {
		a = s.ask(at, n)
	}
	s.mu.Unlock()
	switch {
	case closed:
		return 0, ErrClosed
	case inHand:
		return first, nil
	case n > s.max:
		return 0, s.exhausted()
	case at.Reserver == nil:
		return 0, ErrNoConnection
	}
	began := s.now()
	var got answer
	if s.onBack == RemedyWarn {
		got = a.reserveAnyway(ctx)
	} else {
		got = a.reserveOpen(ctx)
	}
	a.noteOn(got, began)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, ErrClosed
	case errors.Is(got.err, ErrExhausted), got.err == nil && got.First > s.max-n+1:
		return 0, s.exhausted()
	case got.err == errUnsteady:
		return 0, down(nil, got.err)
	case got.err != nil:
		return 0, got.err
	}
	s.waits++
	s.skip(after(got.First, n))
	return got.First, nil
}
