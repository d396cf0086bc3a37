package counting

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// ask is one attempt to reserve integers, with the facts by which its answer is judged.
type ask struct {
	src      *Sequence
	reserver keysource.Reserver
	maxKey   func(context.Context) (int64, error)
	open     bool // the reservation is, or may be, a part of an open transaction, which can be rolled back

	n       int64
	attempt int64 // the number of the attempt, from 1
	limit   time.Duration

	seen, least int64
	server      string
	greeted     bool // the store was compared with the table, and no key was found in use since
	doubt       bool // the store is to be compared with the greatest key in the table

	drops, turn int64 // src.drops and src.order.turn when the attempt was begun
}

// refill starts a fetch (the goroutine that asks the store) if one is needed and none
// is running. The caller holds mu.
func (s *Sequence) refill() {
	if s.fetch != nil || !s.needs() {
		return
	}
	s.start(s.once)
}

// needs reports whether a request waits for integers, or the block in use is nearly used
// up. The caller holds mu.
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

// once makes an attempt to reserve integers if one is needed: it asks the store and judges
// its answer, within the time limit. If none is needed, the fetch ends.
func (s *Sequence) once(ctx context.Context, f *fetch) (answered, on bool) {
	s.mu.Lock()
	if !s.needs() {
		s.fetch = nil
		s.mu.Unlock()
		return false, false
	}
	f.void = false
	n := s.size.atLeast(max(s.waiting(s.max), 1), s.max)
	a := s.ask(At{Reserver: s.reserver, MaxKey: s.maxKey}, min(n, max(s.room(), 1)))
	s.mu.Unlock()
	began := s.now()
	limited, cancel := context.WithTimeout(ctx, a.limit)
	judged := a // a copy, since settle needs a as it was: all results are in the answer
	got := judged.reserve(limited)
	got.late = got.err != nil && errors.Is(limited.Err(), context.DeadlineExceeded)
	cancel()
	return got.err == nil, s.settle(f, a, got, s.now().Sub(began))
}

// ask returns an attempt to reserve n integers through at. The caller holds mu.
func (s *Sequence) ask(at At, n int64) ask {
	s.attempts++
	return ask{
		src:      s,
		reserver: at.Reserver,
		maxKey:   at.MaxKey,
		open:     at.Open,
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

// settle stores the answer to an attempt, and reports whether to ask again; if not, the
// fetch has ended.
func (s *Sequence) settle(f *fetch, a ask, got answer, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adapt(took, got.late)
	s.meter.Note(s.now(), took, got.N, s.left(), got.err)
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
	case errors.Is(got.err, keysource.ErrExhausted):
		s.spent = true
		s.ended(got.err)
		s.serveStock()
	case s.fault != nil:
		// The store must not be used, and this probe of it has failed: all waiting
		// requests get the error.
		s.probed = s.now()
		s.dismiss(s.fault)
	case errors.Is(got.err, keysource.ErrStoreState):
		// Integers that were reserved before are still handed out. A request that finds
		// none left asks the store again, at most once in probeInterval.
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

// accept stores a reservation that was found good. It returns the part that may be handed
// out: what is neither beyond the last integer nor below the integers known to be in use.
// The caller holds mu, as for the functions below.
func (s *Sequence) accept(a ask, got answer) run {
	s.fetches++
	if !a.open || !got.moved {
		// The store has passed the comparisons with the keys in use.
		if !s.greeted || got.behind > 0 {
			s.behind = got.behind
		}
		if a.drops == s.drops {
			s.suspect = false // Suspect was not called since the comparison
		}
		s.fault, s.failure, s.greeted = nil, nil, true
		if got.Server != "" {
			s.server = got.Server
		}
	}
	if !a.open {
		if s.order.asking > 0 {
			s.order.given = append(s.order.given, run{got.First, got.N})
		}
		s.spent = got.First > s.max-got.N
		if got.back {
			s.seen, s.suspect = 0, !a.doubt
		}
		s.seen = max(s.seen, after(got.First, got.N))
	}
	if got.First > s.max {
		return run{}
	}
	return run{got.First, min(got.N, s.max-got.First+1)}.from(s.least)
}

// hand answers waiting requests from r, the integers that a fetch has got.
func (s *Sequence) hand(f *fetch, a ask, r run) {
	switch {
	case f.void:
	case s.exact && !s.spent:
		// The integers that are left are dropped: a request that came after the attempt was
		// begun must not get them, since another process may already have a greater key.
		s.serve(func(w *waiter) bool {
			if w.n > r.n || w.after >= a.attempt {
				return false
			}
			w.answer(r.first, nil)
			r = run{r.first + w.n, r.n - w.n}
			return true
		})
	default:
		// The last integers up to Max may be kept even if Block is 1: no other process
		// has greater keys.
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

// blockTarget is how long a block should last: a block that is used up sooner was too
// small, one that lasts more than twice as long was too large. It is a compromise
// between the load on the store, one fetch in ten seconds at most once the size has
// settled, and the numbers lost when a process ends, as many as are used in twenty
// seconds.
const blockTarget = 10 * time.Second

// The first, the least and the greatest size of a block whose size adapts to how fast
// integers are used, unless the options say otherwise.
const (
	firstBlock   = 100
	defaultLeast = 10
	defaultMost  = 1_000_000
)

// blockSize is how many integers are reserved at a time, and the bounds of that number.
// The number is fixed if the bounds are equal.
type blockSize struct{ n, least, most int64 }

func newBlockSize(o SequenceOptions) (blockSize, error) {
	switch {
	case o.Block < 0 || o.MinBlock < 0 || o.MaxBlock < 0:
		return blockSize{}, anchor.Endf("%w: a block of less than one integer", keysource.ErrOptions)
	case o.Block > 0 && (o.MinBlock > 0 || o.MaxBlock > 0):
		return blockSize{}, anchor.Endf("%w: the size of blocks is given, and so are bounds for it; leave one of the two out", keysource.ErrOptions)
	case o.Block > 0:
		return blockSize{o.Block, o.Block, o.Block}, nil
	}
	z := blockSize{firstBlock, o.MinBlock, o.MaxBlock}
	if z.least == 0 {
		z.least = defaultLeast
		if z.most > 0 {
			z.least = min(z.least, z.most)
		}
	}
	if z.most == 0 {
		z.most = max(defaultMost, z.least)
	}
	if z.least > z.most {
		return blockSize{}, anchor.Endf("%w: blocks of at least %d and at most %d integers", keysource.ErrOptions, z.least, z.most)
	}
	z.n = min(max(z.n, z.least), z.most)
	return z, nil
}

// lasted adapts the size after a block was used up in d. A negative d means that the
// clock was set back meanwhile; then the size stays.
func (z *blockSize) lasted(d time.Duration) {
	switch {
	case d < 0:
	case d < blockTarget:
		z.n += min(z.n, z.most-z.n)
	case d > 2*blockTarget:
		z.n = max(z.n/2, z.least)
	}
}

// atLeast returns the least multiple of the size that is not below need, which is at
// least 1; or most if that is less.
func (z *blockSize) atLeast(need, most int64) int64 {
	blocks := (need-1)/z.n + 1
	if blocks > most/z.n {
		return most
	}
	return blocks * z.n
}
