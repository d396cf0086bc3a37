package counting

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting/reach"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

// ticks is a range of ticks (units of time): from from up to, but not including, to.
type ticks struct{ from, to int64 }

// reserved is the time that a source may use for keys. It is replaced as a whole and
// never changed.
type reserved struct {
	spans []ticks // ascending, with gaps between them

	// refill is the tick (unit of time) from which on the source reserves more time
	// beforehand.
	refill int64

	// ahead is an upper bound: the tick of a key begins less than so many milliseconds
	// ahead of the clock. It is the borrow cap (how far keys may run ahead of the clock)
	// minus the reach (by how much keys are held back).
	ahead int64
}

// from returns the first reserved tick (unit of time) that is not before tick. If there is
// none, it returns tick and false.
func (r *reserved) from(tick int64) (int64, bool) {
	for i := range r.spans {
		if span := &r.spans[i]; tick < span.to {
			return max(tick, span.from), true
		}
	}
	return tick, false
}

// until returns the end of the reserved time; 0 when nothing is reserved.
func (r *reserved) until() int64 {
	if len(r.spans) == 0 {
		return 0
	}
	return r.spans[len(r.spans)-1].to
}

// marking is the part of a snowflake that calls the Marker.
type marking struct {
	mu       sync.Mutex // guards the fields below; never held while the Marker is called
	closed   bool
	fetching *markFetch // the call in progress, or nil

	// The next three fields are ticks; 0 means unset.
	known int64 // the mark as the store last returned it
	asked int64 // the greatest tick (unit of time) that the Marker was called with
	floor int64 // the next call counts only the ticks (units of time) from floor on as reserved

	limit   time.Duration // the time limit of a call; 0 means the least limit
	pause   time.Duration // how long to wait before the next call, after one that failed
	failed  int64         // when the last call failed, as clock returns it
	failure error         // the error of the last call; nil if the Marker has answered it

	// starved reports whether the last call reserved nothing, since other sources had
	// already reserved the time.
	starved bool

	reach reach.Reach

	marks, failures, rivals, setbacks int64

	meter *fetching.Meter
}

// markFetch is one call to the Marker.
type markFetch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the call has ended

	began int64 // when the call began, as clock returns it
	until int64 // the tick (unit of time) up to which time is to be reserved
	asked int64 // the greatest tick (unit of time) of all earlier calls; 0 if there was none
	err   error // the error for the requests that wait for the call; set before done is closed
}

// nextTick returns the tick (unit of time) to try next for a slot (a key's number in a
// tick) that could not be taken: the slot's own tick if that is reserved; otherwise at
// least the mark, since no tick below the mark can be reserved any more.
func (s *Snowflake) nextTick(slot int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, keysource.ErrClosed
	}
	tick, ours := s.reserved.Load().from(slot >> s.SequenceBits)
	if ours {
		return tick, nil
	}
	return max(tick, s.known, s.floor), nil
}

// fetch waits for a call to the Marker, and begins one if none is in progress; it does
// nothing if tick is reserved. The call belongs to no request and goes on when the
// context or the patience ends. If the call fails, fetch returns an error only if
// asking again does not help.
func (s *Snowflake) fetch(ctx context.Context, tick, now int64, impatient <-chan time.Time) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return keysource.ErrClosed
	}
	if _, ours := s.reserved.Load().from(tick); ours {
		s.mu.Unlock()
		return nil
	}
	if s.fetching == nil {
		pause := s.pauseAt(now)
		if err := s.failure; pause > 0 && errors.Is(err, keysource.ErrStoreState) {
			s.mu.Unlock()
			return err // the error of the last call, a moment ago
		}
		s.begin(pause)
	}
	f := s.fetching
	s.mu.Unlock()

	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return s.leave(ctx.Err())
	case <-impatient:
		return s.leave(nil)
	}
}

// leave returns the error of a request that stops waiting. cause is the context's error, or
// nil if the patience (the longest wait for the store) has ended. The store's error is
// formatted and not wrapped: see [keysource.ErrStoreDown].
func (s *Snowflake) leave(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failure == nil && cause != nil:
		return cause
	case cause != nil:
		return anchor.Endf("%w: %w; the last error was: %v", keysource.ErrStoreDown, cause, s.failure)
	case s.failure == nil && s.starved:
		return anchor.Endf("%w: others have reserved all time of worker %d for %s; give each process a number of its own", keysource.ErrWorkerTaken, s.worker, s.patience)
	case s.failure == nil:
		return anchor.Endf("%w for %s", keysource.ErrStoreDown, s.patience)
	}
	return anchor.Endf("%w for %s; the last error was: %v", keysource.ErrStoreDown, s.patience, s.failure)
}

// prefetch begins to reserve time after r, unless a call to the Marker is in progress or
// would reserve too little: the mark can only be raised as the clock goes on. While keys
// are held back, a call has to reserve at least four fifths of the time by which keys are
// held back.
func (s *Snowflake) prefetch(r *reserved, now int64) {
	found, held := (s.horizon(now)-r.until())*s.Unit, s.borrow-r.ahead
	if found < s.borrow/4 && (held == 0 || found < held-held/5) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.fetching != nil || s.reserved.Load() != r {
		return
	}
	s.begin(s.pauseAt(now))
}

// pauseAt returns how long to wait before the Marker is called again. s.mu must be
// held.
func (s *Snowflake) pauseAt(now int64) time.Duration {
	// If the clock was set back since, no time counts as passed.
	passed := min(max(now-s.failed, 0), s.pause.Milliseconds())
	return s.pause - time.Duration(passed)*time.Millisecond
}

// begin begins a call to the Marker, after a pause. s.mu must be held.
func (s *Snowflake) begin(pause time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &markFetch{cancel: cancel, done: make(chan struct{})}
	s.fetching = f
	// Requests begin no other call until this one has ended, since the refill tick is set
	// beyond all time.
	s.publish(s.reserved.Load().spans, math.MaxInt64)
	go s.call(ctx, f, pause)
}

// call is the goroutine of a call to the Marker: it waits for the pause, and calls the
// Marker.
func (s *Snowflake) call(ctx context.Context, f *markFetch, pause time.Duration) {
	defer close(f.done)
	defer f.cancel()
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}

	began := s.clock()
	s.mu.Lock()
	limit := max(s.limit, minLimit)
	f.began, f.until, f.asked = began, s.horizon(began), s.asked
	s.asked = max(f.asked, f.until)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := ctx.Err() // set if Close was called
	var before int64
	sent := time.Now()
	if err == nil {
		before, err = s.marker.Mark(ctx, s.Milli(f.until))
	}
	ended := s.clock()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetching = nil
	switch {
	case s.closed:
		f.err = keysource.ErrClosed
	case err != nil:
		s.meter.Note(time.Now(), 0, 0, 0, err)
		if ctx.Err() != nil {
			s.limit = min(2*limit, maxLimit)
		}
		s.fail(f, err, ended)
	default:
		s.meter.Note(time.Now(), time.Since(sent), 0, 0, nil)
		if ended-began < minLimit.Milliseconds()/2 {
			s.limit = minLimit
		}
		s.grant(f, s.TickFrom(before), ended)
	}
}

// fail notes that the call f has failed at now. s.mu must be held.
func (s *Snowflake) fail(f *markFetch, err error, now int64) {
	s.failures++
	s.failure, s.failed = err, now
	s.pause = min(max(2*s.pause, minPause), maxPause)
	if errors.Is(err, keysource.ErrStoreState) {
		f.err = err
	}
	r := s.reserved.Load()
	s.publish(r.spans, s.refillOf(r.spans))
}

// grant notes what a call to the Marker has reserved: the ticks (units of time) from
// before, which was the mark until then, to f.until. s.mu must be held.
func (s *Snowflake) grant(f *markFetch, before, now int64) {
	s.marks++
	s.failure, s.pause = nil, 0
	s.reach.Called(f.began)
	if f.asked > 0 && before > f.asked {
		// Another source has raised the mark. The ticks that are left are near the borrow
		// cap, and keys that are held back would have to wait for them, so keys are held
		// back no longer.
		s.rivals++
		s.reach.Reset()
	}
	if before < s.known {
		// The store has lost marks, perhaps also marks of other sources, which can have
		// reserved as far ahead of now as we can. Lost and kept marks cannot be
		// distinguished, so all of our reserved time is given up.
		s.setbacks++
		s.floor = max(s.floor, s.horizon(now))
		s.reach.Reset()
	}
	s.known = max(before, f.until)
	s.starved = before >= f.until
	spans := s.unused()
	if own := (ticks{max(before, s.floor), f.until}); own.from < own.to {
		s.floor = own.to
		if last := len(spans) - 1; last >= 0 && spans[last].to == own.from {
			spans[last].to = own.to
		} else {
			spans = append(spans, own)
		}
	}
	s.publish(spans, s.refillOf(spans))
}

// refillOf returns the tick (unit of time) from which on the source should reserve more
// time than spans: before their end, by a fifth of the borrow cap (how far keys may run
// ahead of the clock).
func (s *Snowflake) refillOf(spans []ticks) int64 {
	r := reserved{spans: spans}
	return r.until() - max(1, s.borrow/5/s.Unit)
}

// unused returns a copy of the reserved spans of time without the ones that are used
// up.
func (s *Snowflake) unused() []ticks {
	at := s.free.Load() >> s.SequenceBits
	var spans []ticks
	for _, span := range s.reserved.Load().spans {
		if span.to > at {
			spans = append(spans, span)
		}
	}
	return spans
}

// publish replaces the reserved time. s.mu must be held, and the source must
// not be closed.
func (s *Snowflake) publish(spans []ticks, refill int64) {
	s.reserved.Store(&reserved{spans: spans, refill: refill, ahead: s.borrow - s.reach.Millis()})
}
