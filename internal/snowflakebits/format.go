// Package snowflakebits takes the keys of snowflakes apart and puts them together.
package snowflakebits

import "time"

// LatestMilli is the last millisecond of the year 9999: later times can neither be
// written nor be stored in most engines.
const LatestMilli = 253_402_300_799_999

// MaxSlotBits is the greatest number of bits of a slot (the number of a place for one key):
// an int64 then has room to count past the last slot.
const MaxSlotBits = 62

// Format holds the numbers that a snowflake computes with. A tick is one unit of time.
// A slot is a tick and a sequence number in it; a worker has one key for each slot.
type Format struct {
	WorkerBits, SequenceBits int
	Width                    int // bits of a key

	Unit  int64 // milliseconds
	Epoch int64 // milliseconds since 1970
	End   int64 // the first tick (unit of time) without a key
}

// New returns the format of snowflakes with bits of time, worker and sequence, whose time
// counts units from the epoch on, which are whole milliseconds.
func New(timeBits, workerBits, sequenceBits int, unit time.Duration, epoch time.Time) Format {
	f := Format{
		WorkerBits:   workerBits,
		SequenceBits: sequenceBits,
		Width:        timeBits + workerBits + sequenceBits,
		Unit:         unit.Milliseconds(),
		Epoch:        epoch.UnixMilli(),
	}
	f.End = min(1<<timeBits, (LatestMilli-f.Epoch)/f.Unit)
	return f
}

// PerTick returns how many keys a worker has in a tick (a unit of time).
func (f *Format) PerTick() int64 { return 1 << f.SequenceBits }

// Key returns the key that a worker has for a slot: a tick (a unit of time) together with a
// sequence number in it. The keys of the slots of one tick are consecutive.
func (f *Format) Key(slot, worker int64) int64 {
	sequence := slot & (f.PerTick() - 1)
	return slot>>f.SequenceBits<<(f.WorkerBits+f.SequenceBits) | worker<<f.SequenceBits | sequence
}

// Split returns the tick (a unit of time), the worker and the sequence number of a key.
func (f *Format) Split(key int64) (tick, worker, sequence int64) {
	tick = key >> (f.WorkerBits + f.SequenceBits)
	worker = key >> f.SequenceBits & (1<<f.WorkerBits - 1)
	return tick, worker, key & (f.PerTick() - 1)
}

// TimeOf returns when a tick (a unit of time) begins, in UTC.
func (f *Format) TimeOf(tick int64) time.Time {
	return time.UnixMilli(f.Milli(tick)).UTC()
}

// Milli returns when a tick (a unit of time) begins, in milliseconds since 1970.
func (f *Format) Milli(tick int64) int64 { return f.Epoch + tick*f.Unit }

// TickOf returns the tick of a time in milliseconds since the epoch. Most formats count
// in milliseconds, for which it spares the division.
func (f *Format) TickOf(milli int64) int64 {
	if f.Unit == 1 {
		return milli
	}
	return milli / f.Unit
}

// TickFrom returns the first tick that begins at or after a time in milliseconds since
// 1970, or 0 if the time is before the epoch.
func (f *Format) TickFrom(milli int64) int64 {
	milli = min(max(milli, f.Epoch), LatestMilli) - f.Epoch
	return (milli + f.Unit - 1) / f.Unit
}
