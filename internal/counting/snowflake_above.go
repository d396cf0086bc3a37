package counting

import (
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/snowflakebits"
	"github.com/keyfill/keyfill/keysource"
)

// Above makes every later key greater than key. It is called with the greatest key in the
// table when a source without a [keysource.Marker] starts, since the clock may have been
// set back while no process ran. Without a Marker the next key then waits until the clock
// has reached the time of key. Above fails with [keysource.ErrClock] if that is more than
// ten seconds ahead. A key below 1, of an empty table, changes nothing.
//
// It returns an error that wraps [keysource.ErrOptions] for a key of more bits than this
// source's keys have: the column holds other keys too. A foreign key of no more bits is
// read as a snowflake, whatever time that gives.
//
// It does no I/O and is safe for concurrent use.
func (s *Snowflake) Above(key int64) error {
	if key>>s.Width > 0 {
		return anchor.Endf("%w: bits: the column holds keys that are no snowflakes of %d bits: "+
			"give the source the bits that they have, or its keys another column", keysource.ErrOptions, s.Width)
	}
	if key < 1 {
		return nil
	}
	slot := s.slotAbove(key)
	for {
		free := s.free.Load()
		if slot <= free {
			return nil
		}
		// Raise start before free: otherwise a waiting request could get the slot (a key's
		// number in a tick) before that tick begins.
		for start := s.start.Load(); start < slot && !s.start.CompareAndSwap(start, slot); {
			start = s.start.Load()
		}
		if s.free.CompareAndSwap(free, slot) {
			return nil
		}
	}
}

// overtaken reports whether the source has given out no key yet, and cannot for more
// than ten seconds, since other processes have reserved the time of its worker's number
// up to a mark that far ahead of its clock. It also returns the mark.
func (s *Snowflake) overtaken() (mark time.Time, is bool) {
	now := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	unused := s.free.Load()-1 < max(s.start.Load(), 1<<s.SequenceBits)
	return s.TimeOf(s.known), unused && s.known*s.Unit-now > snowflakeBehind
}

// retire returns the greatest key that was given out, or 0 if none was, and ensures
// that no other key follows: a request that was in progress when the source was closed
// already has its key, or gets none.
func (s *Snowflake) retire() int64 {
	last := s.free.Swap(1<<snowflakebits.MaxSlotBits) - 1
	if last < max(s.start.Load(), 1<<s.SequenceBits) {
		return 0
	}
	return s.Key(last, s.worker)
}

// slotAbove returns the first slot (tick and sequence number) whose key is greater than
// key, which is positive and of s.Width bits at most.
func (s *Snowflake) slotAbove(key int64) int64 {
	tick, worker, sequence := s.Split(key)
	slot := tick << s.SequenceBits
	switch {
	case s.worker < worker:
		return slot + s.PerTick()
	case s.worker == worker:
		return slot + sequence + 1
	}
	return slot
}
