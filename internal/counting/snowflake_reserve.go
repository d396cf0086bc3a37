package counting

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keyclock"
	"github.com/keyfill/keyfill/keysource"
)

// clock returns the wall time in milliseconds since the epoch of the format; it is far
// out of range if no key can hold it. Unlike a UUIDv7, a Snowflake never calls
// wall.advance, so it is the wall clock's own time.
func (s *Snowflake) clock() int64 { return s.wall.Read()>>keyclock.TickBits - s.Epoch }

// horizon returns the first tick (unit of time) that must not be given out when clock
// returns now. That tick begins at now plus the borrow cap (how far keys may run ahead of
// the clock), or later.
func (s *Snowflake) horizon(now int64) int64 {
	return min((now+s.borrow+s.Unit-1)/s.Unit, s.End)
}

// due returns from when on a slot (a key's number in a tick) may be given out, as clock
// returns it; free is the first slot that is not given out yet. Without a Marker the
// first slot waits for its tick: only the clock keeps the source from the keys of other
// sources. With a Marker it must not wait, since another process with the number may
// always raise the mark before.
func (s *Snowflake) due(r *reserved, slot, free int64) int64 {
	begins := slot >> s.SequenceBits * s.Unit
	if s.marker == nil && free <= s.start.Load() {
		return begins
	}
	return begins - r.ahead + 1
}

// take takes n slots (numbers of keys) of one tick (unit of time), not before the time
// asked, if they may be given out at the time now. Otherwise it returns the first slot that
// it would take.
//
// The loaded values may be out of date when it swaps. The slots are still new because
// free has not moved, and they are ours because a reserved tick is ours for ever.
func (s *Snowflake) take(asked, now, n int64) (slot int64, ok bool) {
	r := s.reserved.Load()
	earliest := min(s.TickOf(asked), s.End) << s.SequenceBits
	for {
		free := s.free.Load()
		slot = max(free, earliest)
		if slot&(s.PerTick()-1)+n > s.PerTick() {
			slot = (slot>>s.SequenceBits + 1) << s.SequenceBits
		}
		tick, ours := r.from(slot >> s.SequenceBits)
		if tick != slot>>s.SequenceBits {
			slot = tick << s.SequenceBits
		}
		if !ours || now < s.due(r, slot, free) {
			return slot, false
		}
		if s.free.CompareAndSwap(free, slot+n) {
			if tick >= r.refill {
				s.prefetch(r, now)
			}
			return slot, true
		}
	}
}

// wait takes n slots (numbers of keys) of one tick (unit of time), after take could not at
// the time asked, and returns the first. It holds no lock while it waits.
//
// No key is of a time before asked, which stays the same whatever the clock shows after
// a wait. If it moved on, a Marker that takes longer to answer than the time that it
// reserves would never answer in time.
func (s *Snowflake) wait(ctx context.Context, asked, n int64) (int64, error) {
	var (
		now       = asked
		stalled   int64 // by how much less the clock has gone on than the request has waited
		waited    bool
		impatient <-chan time.Time // when the patience with the store ends
	)
	for {
		slot, ok := s.take(asked, now, n)
		if ok {
			return slot, nil
		}
		next, err := s.nextTick(slot)
		if err != nil {
			return 0, err
		}
		due := s.due(s.reserved.Load(), next<<s.SequenceBits, s.free.Load())
		switch {
		case next >= s.End:
			return 0, s.exhausted()
		case next*s.Unit-now > snowflakeBehind:
			return 0, s.clockError("is more than ten seconds behind the keys: set it right, or give the worker a number that was never used")
		case stalled > snowflakeBehind:
			return 0, s.clockError("stands still")
		case due > now:
			if !waited {
				waited = true
				s.waits.Add(1)
			}
			begin := now
			pause := min(due-now, longestNap)
			if err := s.sleep(ctx, time.Duration(pause)*time.Millisecond); err != nil {
				return 0, err
			}
			now = s.clock()
			stalled += pause - min(max(now-begin, 0), pause)
		default:
			if impatient == nil {
				began, t := time.Now(), time.NewTimer(s.patience)
				defer t.Stop()
				defer func() { s.waited(ctx, time.Since(began)) }()
				impatient = t.C
			}
			if err := s.fetch(ctx, next, now, impatient); err != nil {
				return 0, err
			}
			now = s.clock()
		}
	}
}

// sleep waits for d. It returns the context's error, or [keysource.ErrClosed].
func (s *Snowflake) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return keysource.ErrClosed
	case <-t.C:
		return nil
	}
}

func (s *Snowflake) clockError(what string) error {
	return anchor.Endf("%w: the clock of snowflake worker %d %s", keysource.ErrClock, s.worker, what)
}

func (s *Snowflake) exhausted() error {
	return anchor.Endf("%w: the time in its keys ended on %s: give them another table, and a snowflake with more bits or a later epoch, or another source",
		keysource.ErrExhausted, s.TimeOf(s.End).Format(time.DateOnly))
}
