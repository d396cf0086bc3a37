package keysource

import (
	"context"
	"errors"
	"math"
	"time"
)

const (
	// A store that fails is asked again after a pause that doubles from the
	// first to the second: with a round trip of less than a second it is found
	// back within two.
	minPause = 50 * time.Millisecond
	maxPause = time.Second

	// An attempt that gets no answer is given up, and the next one has twice
	// the time, since opening a connection may take long.
	minLimit = time.Second
	maxLimit = 8 * time.Second
)

// fetch is the goroutine that asks the store. There is one at most, started
// when something is needed; it ends when nothing is, on an error that asking
// again does not help, and on Close.
type fetch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	void   bool          // Drop was called in this attempt; guarded by the sequence's mu
}

// ask is what one attempt asks for, and what its answer is judged by.
type ask struct {
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

// prefetch sees to it that the next block is fetched.
func (s *Sequence) prefetch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
}

// refill starts a fetch if one is needed and none is in flight. The caller
// holds mu.
func (s *Sequence) refill() {
	if s.fetch != nil || !s.needs() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	s.fetch = f
	go s.run(ctx, f)
}

// needs reports whether there is something to fetch for. The caller holds mu.
func (s *Sequence) needs() bool {
	switch {
	case s.closed || s.onConn:
		return false
	case s.waiting() > 0:
		return true
	case s.exact, s.spent, s.fault != nil, s.refusedLately():
		return false
	}
	return s.spare.n == 0 && s.current.Load().low()
}

// run asks the store until nothing is needed.
func (s *Sequence) run(ctx context.Context, f *fetch) {
	defer close(f.done)
	defer f.cancel()
	for pause := minPause; ; {
		a, ok := s.begin(f)
		if !ok {
			return
		}
		began := s.now()
		got := s.attempt(ctx, a)
		if !s.settle(f, a, got, s.now().Sub(began)) {
			return
		}
		if got.err == nil {
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

// begin returns what the next attempt asks for, or ends the fetch.
func (s *Sequence) begin(f *fetch) (ask, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.needs() {
		s.fetch = nil
		return ask{}, false
	}
	f.void = false
	n := s.size.atLeast(max(s.waiting(), 1), s.max)
	at := At{Reserver: s.reserver}
	if s.maxKey != nil {
		at.MaxKey = s.greatest
	}
	return s.ask(at, min(n, max(s.room(), 1))), true
}

// room returns how many integers there can be left. Not more are asked for, so
// that the store does not overflow. The caller holds mu, as for ask.
func (s *Sequence) room() int64 { return s.max - max(s.seen, s.least, 1) + 1 }

// ask returns an attempt to get n integers.
func (s *Sequence) ask(at At, n int64) ask {
	s.attempts++
	return ask{
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

// attempt asks the store once and judges its answer, within the time of a.
func (s *Sequence) attempt(ctx context.Context, a ask) answer {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	got := s.reserve(ctx, &a)
	got.late = got.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	return got
}

// settle takes in the answer to an attempt, and reports whether to ask again;
// if not, the fetch has ended.
func (s *Sequence) settle(f *fetch, a ask, got answer, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.n = got.count(a.n)
	switch {
	case got.late:
		s.limit = min(2*s.limit, maxLimit)
	case took < s.limit/4:
		s.limit = max(s.limit/2, minLimit)
	}
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
		s.serve()
	case s.fault != nil:
		// Whoever waits has waited for one probe.
		s.probed = s.now()
		s.dismiss(s.fault)
	case errors.Is(got.err, ErrStoreState):
		// What is in hand is handed out; the request that finds nothing left
		// asks again, once in a while.
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

// accept takes in a reservation that has been found good and has committed. It
// returns what of it may be handed out. The caller holds mu, as for what
// follows.
func (s *Sequence) accept(a ask, got answer) run {
	s.fetches++
	s.trust(a, got)
	s.spent = got.First > s.max-a.n
	s.seen = max(s.seen, after(got.First, a.n))
	return s.within(got.First, a.n)
}

// trust takes in that the store has been found fit for use.
func (s *Sequence) trust(a ask, got answer) {
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

// within returns what of n integers from first on is neither beyond the last
// one nor below what is known to be in use.
func (s *Sequence) within(first, n int64) run {
	if first > s.max {
		return run{}
	}
	return run{first, min(n, s.max-first+1)}.from(s.least)
}

// hand answers those who wait from r, which a fetch has been given.
func (s *Sequence) hand(f *fetch, a ask, r run) {
	switch {
	case f.void:
	case s.exact && !s.spent:
		s.serveFrom(r, a.attempt)
	default:
		// What is left at the end may be kept whatever the block: no other
		// process has greater keys.
		s.keep(r)
		s.serve()
	}
}

// after returns first+n, or the greatest integer if that is less.
func after(first, n int64) int64 {
	if first > math.MaxInt64-n {
		return math.MaxInt64
	}
	return first + n
}
