package counting

import (
	"context"
	"database/sql/driver"
	"math"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/internal/keyclock"
	"github.com/keyfill/keyfill/internal/snowflakebits"
	"github.com/keyfill/keyfill/keysource"
)

// Snowflake makes integers of the time, a worker's number and a sequence
// number: ordered within the source and across its goroutines, and different
// from the keys of all other workers.
//
//	 63 62                                      22 21         12 11           0
//	+--+------------------------------------------+-------------+-------------+
//	|0 |  milliseconds since 2020-01-01, 41 bits  | worker, 10  | sequence, 12|
//	+--+------------------------------------------+-------------+-------------+
//
// That is 1,024 workers with 4,096 keys a millisecond each, until 2089-09-06.
// [keysource.SnowflakeBits] can set other bits. The keys of a request are consecutive and
// of one tick, which is the unit of time: of the next tick if too few of the current one
// are left. A request for more keys than a tick has is refused.
//
// # No key twice
//
// A key is its tick, its worker and its number within the tick, so that one rule has to
// be kept: of all processes that ever have a worker's number, no two use the same
// number within a tick. Within a source, one counter that only grows ensures that.
// Between sources the [keysource.Marker] ensures it: a source uses only ticks that it has
// reserved there. Clocks have no part in it. They may stand still, differ, or be set
// back by a second or a day, while the process runs or between two; they only decide
// which ticks it asks for.
//
// Without a Marker only the clock keeps a source from the ticks of its predecessor, and
// nothing guards it against another process with the same number. The source leaves out
// the first second, since its predecessor may have been that far ahead of its clock: the
// first key has the tick of a second after NewSnowflake was called, and a request waits
// for it. A clock that is set back by more than that while no process runs makes keys
// twice, and so does a predecessor with a Marker that was three seconds ahead, except for
// keys below the argument of [Snowflake.Above]. Two sources of one process are kept apart
// by [Workers].
//
// # Ahead of the clock
//
// A request that finds the ticks of the present used up, or the clock set back, takes the
// next tick, less than three seconds ahead of the clock, or less than a second without a
// Marker. Beyond that it waits, without a lock and until its context ends at most. Where
// the clock is more than ten seconds behind, or stands still for as long, it fails at once
// with [keysource.ErrClock]: the clock has to be set right, or the worker to be given
// another number. The same holds for a start: the mark shows how far the last process
// came.
//
// A clock that was ahead of the time by a year, once, has therefore used up its worker's
// number for a year.
//
// Where the ticks are used up as fast as the clock gives them, and the mark is three
// seconds ahead, a call to the Marker could reserve no more than the next tick. The
// source then holds its keys back, by up to two seconds, so that the reservation of one
// call lasts for about a second. It gives up an eighth of its ticks for that at first,
// during ten seconds or so, and it lets the keys run ahead again when the use falls.
//
// With a Marker a Snowflake has a goroutine while the Marker is called; Close ends it. The
// Marker is called before the first key, when the keys come near the end of the reserved
// time, and by the first request after more than three seconds without one. The mark
// reserves three seconds at most, so that a process that ends leaves no more than that
// unused.
//
// # Caveats
//
// A store can lose the last marks, as one with asynchronous replication does in a
// failover. A source that knew them notices, leaves out the time that others may have
// reserved by them, and counts it in [SnowflakeStats]. A source that starts does not know
// them: if its predecessor was ahead of its clock, the primary key is the last guard.
//
// A snowflake reveals when it was made and by which worker. At a low rate its lowest bits
// are mostly 0, so that the key modulo a small number is no way to spread rows.
type Snowflake struct {
	snowflakebits.Format
	worker  int64
	wall    keyclock.Clock
	marker  keysource.Marker // nil: no time is reserved, and all time from start on may be used
	borrow  int64            // how far ahead of the clock the tick (unit of time) of a key may begin, in milliseconds
	workers *Workers

	patience time.Duration                        // how long a request waits for the Marker
	waited   func(context.Context, time.Duration) // is called after each wait, with its length

	closing chan struct{} // closed by Close

	start    atomic.Int64             // the first slot (tick and sequence number) that may be given out; -1 if there is no such limit
	free     atomic.Int64             // the first slot (tick and sequence number) that is not given out yet
	reserved atomic.Pointer[reserved] // the time that may be given out
	waits    atomic.Int64             // how many requests have waited for the clock

	marking
}

const (
	// markedBorrow is how far, in milliseconds, keys may run ahead of the clock with a
	// [keysource.Marker], which reserves as far ahead. The Marker is called when a fifth
	// of that is left: once in 2.4 seconds while there are keys for all requests, so two
	// round trips for a call are less than one a second. If there are too few keys, see
	// reach.
	markedBorrow = 3000

	// unmarkedBorrow is how far, in milliseconds, keys may run ahead of the clock without a
	// Marker. The first key waits for as long.
	unmarkedBorrow = 1000

	// longestNap is how long, in milliseconds, a request sleeps at most before it reads
	// the clock again.
	longestNap = 1000

	// snowflakeBehind is how far, in milliseconds, the clock may be slower than the next
	// tick (unit of time): a request waits for a clock within this limit, and fails
	// otherwise.
	snowflakeBehind = 10_000
)

// NewSnowflake returns a source of snowflakes, and notes in workers that its worker's
// number is in use until Close. If workers is nil, only a Marker keeps its keys and the
// keys of other sources with the same number apart. It does no I/O. The error wraps
// [keysource.ErrOptions]; [keysource.ErrWorkerTaken]; [keysource.ErrClock] when the clock
// shows a time before the epoch; or [keysource.ErrExhausted] when it shows one after the
// end.
//
// The source must be closed for its number to be free again.
func NewSnowflake(workers *Workers, o keysource.SnowflakeOptions, env keysource.Env) (*Snowflake, error) {
	if err := o.Bits.Check(); err != nil {
		return nil, err
	}
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	s := &Snowflake{
		Format: formatOf(o.Bits),
		worker: int64(number),

		patience: patience(env),
		waited:   waited(env),
		marker:   o.Marker,
		borrow:   markedBorrow,
		workers:  workers,
		closing:  make(chan struct{}),
	}
	s.meter = new(fetching.Meter)
	s.wall.Start(env.Now)
	now := s.clock()
	switch {
	case now < 0:
		return nil, s.clockError("shows a time before the epoch")
	case now/s.Unit >= s.End:
		return nil, s.exhausted()
	}
	if err := s.workers.take(number); err != nil {
		return nil, err
	}
	s.start.Store(-1)
	s.free.Store(1 << s.SequenceBits) // a key is at least 1, whatever the worker
	s.publish(nil, math.MaxInt64)
	if s.marker == nil {
		s.borrow = unmarkedBorrow
		first := s.horizon(now)
		s.start.Store(first << s.SequenceBits)
		s.free.Store(first << s.SequenceBits)
		s.publish([]ticks{{first, s.End}}, math.MaxInt64)
	}
	return s, nil
}

// Next returns r.N consecutive integers in ascending order: int64 in the empty layout,
// decimal text in [dialect.SequentialAsString]. For any other layout it returns
// [keysource.ErrLayout]. It also returns the errors of [Snowflake.Reserve].
func (s *Snowflake) Next(ctx context.Context, r keysource.Request) ([]driver.Value, error) {
	return s.Append(ctx, nil, r)
}

// Append is like Next, but appends the keys to room; see [keysource.Source].
func (s *Snowflake) Append(ctx context.Context, room []driver.Value, r keysource.Request) ([]driver.Value, error) {
	if r.Layout != "" && r.Layout != dialect.SequentialAsString {
		return room, anchor.Endf("%w: an integer with %s", keysource.ErrLayout, r.Layout)
	}
	first, err := s.Reserve(ctx, int64(r.N))
	if err != nil {
		return room, err
	}
	return boxing.AppendIntegers(room, first, r.N, r.Layout), nil
}

// Reserve returns the first of n consecutive integers, which are handed out only once and
// are greater than all integers that were handed out before. It returns
// [keysource.ErrCount]; [keysource.ErrTooMany] if n is more than a tick (unit of time) has;
// [keysource.ErrClock]; [keysource.ErrExhausted] after the end; [keysource.ErrStoreDown] if
// the Marker has failed for ten seconds, or until the context ended;
// [keysource.ErrStoreState]; [keysource.ErrWorkerTaken] if other processes with the number
// were faster for ten seconds; [keysource.ErrClosed]; or the context's error if the context
// ends while the Marker has not failed.
func (s *Snowflake) Reserve(ctx context.Context, n int64) (int64, error) {
	first, _, err := s.reserve(ctx, n)
	return first, err
}

// reserve implements Reserve, and reports whether it has waited for the clock or for
// the Marker.
func (s *Snowflake) reserve(ctx context.Context, n int64) (first int64, waited bool, err error) {
	switch {
	case n < 1:
		return 0, false, keysource.ErrCount
	case n > s.PerTick():
		return 0, false, anchor.Endf("%w: %d, of %d", keysource.ErrTooMany, n, s.PerTick())
	}
	now := s.clock()
	slot, ok := s.take(now, now, n)
	if !ok {
		if slot, err = s.wait(ctx, now, n); err != nil {
			return 0, true, err
		}
	}
	return s.Key(slot, s.worker), !ok, nil
}

// Traits returns that keys are ordered integers, that the keys of a request are
// consecutive, and when they end.
func (s *Snowflake) Traits() keysource.Traits {
	return keysource.Traits{Ordered: true, Contiguous: true, Integer: true, End: s.TimeOf(s.End)}
}

// Drop gives up the time that is reserved or being reserved. A caller uses it when it
// has found a key of that time in the table. Later keys are of a time that is reserved
// after the call. Without a Marker nothing is reserved, and Drop does nothing.
func (s *Snowflake) Drop() {
	if s.marker == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = max(s.floor, s.asked)
	s.reach.Reset() // so that the next reservation reaches as far ahead as allowed
	s.publish(nil, math.MaxInt64)
}

// Close ends the call to the Marker that is under way, makes requests fail with
// [keysource.ErrClosed] and gives the worker's number back; the reserved time is given up.
// It waits for the call until ctx ends, and returns the context's error then. It
// may be called again.
func (s *Snowflake) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.publish(nil, math.MaxInt64)
		s.closed = true
		close(s.closing)
		s.workers.free(int(s.worker))
	}
	f := s.fetching
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	f.cancel()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SnowflakeStats is the state of a snowflake.
type SnowflakeStats struct {
	Worker int
	Last   time.Time // the time of the last key; the zero Time if there is none
	Until  time.Time // the end of the reserved time; the zero Time if none is reserved
	End    time.Time // from when on the source can make no keys

	Waits    int64 // how many requests have waited for the clock
	Marks    int64 // how many calls to the Marker have succeeded
	Failures int64 // how many calls to the Marker have failed

	// Rivals is how often another process had raised the mark since this process did. More
	// than one or two mean that another process with the same number is alive. Keys stay
	// different; the processes share the time.
	Rivals int64

	// Setbacks is how often the mark was lower than this source had seen it: the store
	// has lost a mark that it had reported as stored.
	Setbacks int64

	Fetching fetching.Fetching // the calls to the Marker
	Err      error             // the error of the last call to the Marker; nil if the Marker has answered it
}

// Stats returns the state of the source. It does no I/O.
func (s *Snowflake) Stats() SnowflakeStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := SnowflakeStats{
		Worker:   int(s.worker),
		End:      s.TimeOf(s.End),
		Waits:    s.waits.Load(),
		Marks:    s.marks,
		Failures: s.failures,
		Rivals:   s.rivals,
		Setbacks: s.setbacks,
	}
	st.Fetching, st.Err = s.meter.Fetching(time.Now(), 0), s.failure
	if last := s.free.Load() - 1; last >= max(s.start.Load(), 1<<s.SequenceBits) {
		st.Last = s.TimeOf(last >> s.SequenceBits)
	}
	if until := s.reserved.Load().until(); until > 0 {
		st.Until = s.TimeOf(until)
	}
	return st
}

// formatOf returns what keys of these bits are computed with.
func formatOf(b keysource.SnowflakeBits) snowflakebits.Format {
	b = b.WithDefaults()
	return snowflakebits.New(b.Time, b.Worker, b.Sequence, b.Unit, b.Epoch)
}
