package counting

import (
	"context"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/keysource"
)

// At gives a call access to the store through a statement's own connection. Only the
// call that gets it uses it, on the calling goroutine.
type At struct {
	// Reserver works on that connection. Outside a transaction, each of its calls has
	// committed when it returns; inside a transaction, it is a part of that. It must
	// write before it reads, so that a transaction that sees an old state fails and
	// does not answer from it. Inside a transaction it must not reserve fewer integers
	// than it is asked for: they would be lost with the statement that needs them all.
	Reserver keysource.Reserver

	// MaxKey is [SequenceOptions].MaxKey, on that connection.
	MaxKey func(context.Context) (int64, error)

	// Open reports whether a transaction is open on that connection, or may be.
	Open bool
}

// ReserveOn does what [Sequence.Reserve] does, for a source that reserves on the
// statements' connections; a source that has a store of its own ignores at. Integers that
// are reserved already come first: their reservation has committed, so they may be used
// inside a transaction too. If they do not suffice, the store is asked through at.Reserver,
// once, on the calling goroutine, while no lock is held:
//
//	at.Open   reserves                    keeps             if rolled back
//	false     a block, or n of Block 1    the rest of it    cannot happen
//	true      n integers                  nothing           undone with the transaction
//
// If the store has fewer than n integers left, they are used together with the integers
// that are reserved already, provided that all are consecutive.
//
// A reservation inside a transaction is compared with the integers that the store has
// given by commits to this process, and is not added to them: if the counter is lower
// after a rollback, the store has not gone back. The first comparison with at.MaxKey
// counts there too, unless it has advanced the store, which may be rolled back.
//
// Several goroutines that ask at once reserve a block each. Integers that would break the
// order become a gap: those below others that have been handed out meanwhile, and integers
// that are reserved already when a transaction has got greater ones.
//
// It returns [keysource.ErrCount], [keysource.ErrExhausted], [keysource.ErrClosed],
// [keysource.ErrStoreState], [keysource.ErrStoreBack], [keysource.ErrStoreBehind];
// [keysource.ErrNoConnection] without at.Reserver; [keysource.ErrStoreDown] if the store
// has changed during the call; and any other error of at as it is. After an error the
// store is not asked again: the caller sets how long the connection waits for other
// writers.
func (s *Sequence) ReserveOn(ctx context.Context, n int64, at At) (int64, error) {
	if !s.onConn {
		return s.Reserve(ctx, n)
	}
	if n < 1 {
		return 0, keysource.ErrCount
	}
	b := s.current.Load()
	if used, ok := b.take(n); ok {
		return b.first + used, nil
	}
	// Ask again only if the reserved integers have been given up meanwhile.
	for {
		first, a, err := s.askOn(n, at)
		if err != nil || first > 0 {
			return first, err
		}
		var got answer
		began := s.now()
		if at.Open {
			got = a.reserveOpen(ctx)
		} else {
			got = a.reserve(ctx)
		}
		a.noteOn(got, began)
		first, err = s.settleOn(n, at, a, got)
		if err != nil || first > 0 {
			return first, err
		}
	}
}

// askOn returns the first of n integers that are reserved already, an error, or the attempt
// to make.
func (s *Sequence) askOn(n int64, at At) (int64, ask, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ask{}, keysource.ErrClosed
	}
	if first, ok := s.take(n); ok {
		return first, ask{}, nil
	}
	tail := s.tail(max(s.seen, s.least))
	switch {
	case s.spent || n > s.max || n-tail.n > s.room():
		return 0, ask{}, s.exhausted()
	case s.fault != nil && !s.probeDue(s.now()):
		return 0, ask{}, s.fault
	case at.Reserver == nil:
		return 0, ask{}, keysource.ErrNoConnection
	}
	s.waits++
	if s.fault != nil {
		s.probed = s.now()
	}
	s.order.asking++
	if !at.Open {
		return 0, s.ask(at, min(s.size.atLeast(n, s.max), s.room())), nil
	}
	if n > s.room() {
		n -= tail.n
	}
	return 0, s.ask(at, n), nil
}

// reserveOpen is reserve inside an open transaction, in which nothing changes between
// two calls. It asks the store before the table, since asking the store takes a lock: a
// transaction of SQLite that begins with a read fails if another one writes before it
// does, and does not wait.
func (a *ask) reserveOpen(ctx context.Context) answer {
	if a.least > a.seen {
		if err := a.catchUp(ctx); err != nil {
			return answer{err: err}
		}
	}
	r, err := a.reserver.Reserve(ctx, a.n, a.seen)
	if err != nil {
		return answer{err: err}
	}
	suspect := r.First < a.seen || a.server != "" && r.Server != "" && r.Server != a.server
	if !a.doubt && !suspect {
		return a.good(r)
	}
	if suspect {
		a.distrust()
	}
	inUse, err := a.inUse(ctx)
	switch {
	case err != nil:
		return answer{err: err}
	case r.First >= inUse:
		return a.good(r)
	}
	return a.remedy(ctx, r, inUse)
}

// settleOn stores the answer to an attempt. It returns the first of n integers, an
// error, or neither if the attempt has to be made again.
func (s *Sequence) settleOn(n int64, at At, a ask, got answer) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.order.asked()
	switch {
	case s.closed:
		return 0, keysource.ErrClosed
	case got.err != nil:
		return 0, s.failOn(at, got)
	case a.doubts(got):
		if !at.Open {
			s.seen = max(s.seen, after(got.First, got.N))
		}
		s.giveUp()
		return 0, nil
	case a.drops != s.drops:
		// Only the integers are dropped; the server is remembered. Otherwise requests
		// that ask at the same time would go on suspecting the server and void each
		// other's integers.
		s.accept(a, got)
		return 0, nil
	}
	r := s.accept(a, got)
	late := s.order.late(a.turn, r)
	// The last integers up to Max may be kept even if Block is 1: no other process has
	// greater keys.
	keeps := !late && !at.Open && (!s.exact || s.spent)
	if keeps {
		s.keep(r)
	}
	if !at.Open {
		if first, ok := s.take(n); ok {
			return first, nil
		}
	} else if !late {
		if first, ok := s.complete(r, n); ok {
			return first, nil
		}
	}
	switch {
	case !keeps && r.n >= n:
		s.skip(after(r.first, n))
		return r.first, nil
	case got.First > s.max-n+1:
		return 0, s.exhausted()
	}
	return 0, nil // an Advance came between, or other requests have taken the integers that were kept
}

// doubts reports whether an answer that was good for its attempt is outdated: meanwhile the
// store was found unusable, another server has answered, or this server has given the same
// integers twice and so has gone back (its counter is lower than before). The next attempt
// finds out. The caller holds the source's mu.
func (a *ask) doubts(got answer) bool {
	s := a.src
	return s.fault != nil && a.drops != s.drops ||
		a.server != s.server && got.Server != "" && got.Server != s.server ||
		s.order.gives(run{got.First, got.N})
}

// failOn stores the error of an attempt and returns the error of the request. The caller
// holds mu.
func (s *Sequence) failOn(at At, got answer) error {
	switch {
	case got.fault:
		s.fault, s.probed = got.err, s.now()
		return got.err
	case errors.Is(got.err, keysource.ErrExhausted):
		s.spent = s.spent || !at.Open
		s.ended(got.err)
		return s.exhausted()
	case got.err == errUnsteady:
		s.failure = got.err
		return down(nil, got.err)
	}
	s.failure = got.err
	return got.err
}

// order holds the order in which several goroutines have reserved integers on their
// connections. It is guarded by the sequence's mu.
type order struct {
	turn int64 // counts the reservations
	end  int64 // end of the last reservation

	asking int   // attempts that are under way
	given  []run // the reservations that were committed while attempts were under way
}

// asked notes that an attempt to reserve has ended.
func (o *order) asked() {
	if o.asking--; o.asking == 0 {
		o.given = o.given[:0]
	}
}

// gives reports whether an integer of r was also given to another attempt that ran at
// the same time. Earlier reservations need no check: each attempt begins above them.
func (o *order) gives(r run) bool {
	return slices.ContainsFunc(o.given, func(g run) bool {
		return g.from(r.first).n > 0 && r.from(g.first).n > 0
	})
}

// late notes that r was reserved by an attempt that was begun when o.turn was turn, and
// reports whether greater integers were handed out since. Greater integers from before do
// not count: if r is lower, they were rolled back.
func (o *order) late(turn int64, r run) bool {
	late := o.turn != turn && r.first < o.end
	o.turn++
	if !late {
		o.end = after(r.first, r.n)
	}
	return late
}

// AdvanceOn does what [Sequence.Advance] does, for a source that reserves on the
// statements' connections; a source that has a store of its own ignores at. It asks
// at.Reserver only if the store's counter may be below to, and returns the store's
// error as it is. An advance inside a transaction may be rolled back, so later calls
// repeat it.
func (s *Sequence) AdvanceOn(ctx context.Context, to int64, at At) error {
	if !s.onConn {
		return s.Advance(ctx, to)
	}
	known, err := s.follow(to)
	switch {
	case known || err != nil:
		return err
	case at.Reserver == nil:
		return keysource.ErrNoConnection
	}
	if err := at.Reserver.Advance(ctx, to); err != nil || at.Open {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, to)
	return nil
}

// ReserveWithin does what [Sequence.Reserve] does, for a source that has a store of its
// own, and for a statement whose transaction holds a lock that this store would wait for.
// The block in use comes first. If it does not suffice, n integers are reserved through at,
// the statement's connection, once and on the calling goroutine, and none are kept: they
// belong to the transaction.
//
// The reservation is compared with the integers that the store has given so far, and is not
// added to them. Integers that are reserved already, and are below the transaction's,
// become a gap. at.Open counts as true. It returns the errors of [Sequence.ReserveOn].
func (s *Sequence) ReserveWithin(ctx context.Context, n int64, at At) (int64, error) {
	if s.onConn {
		at.Open = true
		return s.ReserveOn(ctx, n, at)
	}
	if n < 1 {
		return 0, keysource.ErrCount
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
		return 0, keysource.ErrClosed
	case inHand:
		return first, nil
	case n > s.max:
		return 0, s.exhausted()
	case at.Reserver == nil:
		return 0, keysource.ErrNoConnection
	}
	began := s.now()
	var got answer
	if s.onBack == keysource.RemedyWarn {
		got = a.reserveAnyway(ctx)
	} else {
		got = a.reserveOpen(ctx)
	}
	a.noteOn(got, began)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, keysource.ErrClosed
	case errors.Is(got.err, keysource.ErrExhausted), got.err == nil && got.First > s.max-n+1:
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
