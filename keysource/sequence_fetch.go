package keysource

import (
	"context"
	"errors"
	"math"
	"time"
)

// ask is the request of one attempt, and the facts by which its answer is
// judged.
type ask struct {
	src      *Sequence
	reserver Reserver
	maxKey   func(context.Context) (int64, error)

	n       int64
	attempt int64 // counts from 1
	limit   time.Duration

	seen, least int64
	server      string
	greeted     bool // it was compared, and no key was found in use since
	doubt       bool // the store is to be compared with the table

	drops, turn int64 // of the sequence, when the attempt was begun
}

// refill starts a fetch if one is needed and none is in flight. The caller
// holds mu.
func (s *Sequence) refill() {
	if s.fetch != nil || !s.needs() {
		return
	}
	s.start(s.once)
}

// needs reports whether there is something to fetch for. The caller holds mu.
func (s *Sequence) needs() bool {
	switch {
	case s.closed || s.onConn:
		return false
	case s.waiting(s.max) > 0:
		return true
	case s.exact, s.spent, s.fault != nil, s.failure != nil && s.refusedLately(s.now()):
		return false
	}
	return s.low()
}

// once makes an attempt if one is needed.
func (s *Sequence) once(ctx context.Context, f *fetch) (answered, on bool) {
	a, ok := s.begin(f)
	if !ok {
		return false, false
	}
	began := s.now()
	got := a.once(ctx)
	return got.err == nil, s.settle(f, a, got, s.now().Sub(began))
}

// begin returns the next attempt, or ends the fetch.
func (s *Sequence) begin(f *fetch) (ask, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.needs() {
		s.fetch = nil
		return ask{}, false
	}
	f.void = false
	n := s.size.atLeast(max(s.waiting(s.max), 1), s.max)
	at := At{Reserver: s.reserver}
	if s.maxKey != nil {
		at.MaxKey = greatest(s.maxKey)
	}
	return s.ask(at, min(n, max(s.room(), 1))), true
}

// ask returns an attempt to get n integers. The caller holds mu.
func (s *Sequence) ask(at At, n int64) ask {
	s.attempts++
	return ask{
		src:      s,
		reserver: at.Reserver,
		maxKey:   at.MaxKey,
		n:        n,
		attempt:  s.attempts,
		limit:    s.limit,
		seen:     s.seen,
		least:    s.least,
		server:   s.server,
		greeted:  s.greeted && !s.suspect,
		doubt:    !s.greeted || s.suspect || s.fault != nil,
		drops:    s.drops,
		turn:     s.order.turn,
	}
}

// once asks the store and judges its answer, within the time limit. What
// the attempt finds out is in the answer; the ask of the caller stays as it is.
func (a ask) once(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	got := a.reserve(ctx)
	got.late = got.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	return got
}

// settle notes the answer to an attempt, and reports whether to ask again;
// if not, the fetch has ended.
func (s *Sequence) settle(f *fetch, a ask, got answer, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.n = got.count(a.n)
	s.adapt(took, got.late)
	s.meter.note(s.now(), took, a.n, s.left(), got.err)
	final := false
	switch {
	case got.err == nil:
		if got.Apart {
			s.refuseRuns()
		}
		s.hand(f, a, s.accept(a, got))
	case got.fault:
		s.fault, s.probed = got.err, s.now()
		s.dismiss(s.fault)
	case errors.Is(got.err, ErrExhausted):
		s.spent = true
		s.ended(got.err)
		s.serveStock()
	case s.fault != nil:
		// Each waiting request has waited for one probe.
		s.probed = s.now()
		s.dismiss(s.fault)
	case errors.Is(got.err, ErrStoreState):
		// The integers in hand are handed out; the request that finds none left asks
		// again, once in a while.
		final = true
		s.failure, s.probed = got.err, s.now()
		s.dismiss(got.err)
	default:
		s.failure = got.err
	}
	if final || !s.needs() {
		s.fetch = nil
		return false
	}
	return true
}

// count returns how many integers there are where n were asked for.
func (r Reservation) count(n int64) int64 {
	if 0 < r.N && r.N < n {
		return r.N
	}
	return n
}

// accept keeps a reservation that has been found good and has committed. It returns the
// part of it that may be handed out. The caller holds mu, as for the functions below.
func (s *Sequence) accept(a ask, got answer) run {
	s.fetches++
	a.trust(got)
	s.spent = got.First > s.max-a.n
	if got.back {
		s.seen, s.suspect = 0, !a.doubt
	}
	s.seen = max(s.seen, after(got.First, a.n))
	return s.within(got.First, a.n)
}

// trust notes that the store has been found fit for use. The caller holds the source's mu.
func (a *ask) trust(got answer) {
	s := a.src
	if !s.greeted || got.behind > 0 {
		s.behind = got.behind
	}
	if a.drops == s.drops {
		s.suspect = false // else a key may have been found in use since it was compared
	}
	s.fault, s.failure, s.greeted = nil, nil, true
	if got.Server != "" {
		s.server = got.Server
	}
}

// hand answers waiting requests from r, which a fetch has been given.
func (s *Sequence) hand(f *fetch, a ask, r run) {
	switch {
	case f.void:
	case s.exact && !s.spent:
		s.serveFrom(r, a.attempt)
	default:
		// The rest at the end may be kept whatever the block: no other process has
		// greater keys.
		s.keep(r)
		s.serveStock()
	}
}

// after returns first+n, or the greatest integer if that is less.
func after(first, n int64) int64 {
	if first > math.MaxInt64-n {
		return math.MaxInt64
	}
	return first + n
}
