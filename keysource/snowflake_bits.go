package keysource

import (
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/snowflakebits"
)

// snowflakeEpoch is when the time of a snowflake is 0 unless the bits say
// otherwise: 2020-01-01T00:00:00Z, in milliseconds since 1970.
const snowflakeEpoch = 1_577_836_800_000

const (
	// earliestEnd is the year before which no bits may run out. (The default of
	// uid-generator, the widest that it has, ended in 2024, in production.)
	earliestEnd = 2040
)

// SnowflakeBits describes the bits of a snowflake, from the highest to the lowest: the
// time, the worker and the sequence. Bits above them are 0.
//
// The zero value means 41, 10 and 12 bits; [SnowflakeBits53] keeps keys below
// 2⁵³. A table must never change its bits: keys of two layouts can be equal.
type SnowflakeBits struct {
	Time     int // how many bits the time has, in units since the epoch
	Worker   int // how many bits the worker's number has; 0 is right for a single worker
	Sequence int // how many bits the number of a key within its unit of time has

	// Workers is how many numbers of workers there are, from 0 on. Zero means as many
	// as fit their bits.
	Workers int

	// Unit is the unit of time, whole milliseconds up to a second. Zero means one
	// millisecond.
	Unit time.Duration

	// Epoch is when the time is 0: a whole millisecond, not before 1970 and in the
	// past. The zero Time means 2020-01-01 UTC.
	Epoch time.Time
}

// SnowflakeBits53 returns bits for keys below 2⁵³, which JavaScript and JSON
// parsers that read numbers as doubles keep exact (ECMAScript,
// Number.MAX_SAFE_INTEGER).
//
//	 63       53 52                    19 18   12 11        0
//	+-----------+------------------------+-------+-----------+
//	|     0     |  time, 34 bits, 100 ms | w., 7 | seq., 12  |
//	+-----------+------------------------+-------+-----------+
//
// That is 128 workers with 4,096 keys in 100 ms each, 40,960 a second, until
// 2074-06-10.
func SnowflakeBits53() SnowflakeBits {
	return SnowflakeBits{Time: 34, Worker: 7, Sequence: 12, Unit: 100 * time.Millisecond}
}

// WithDefaults returns b with the defaults for the fields that are zero.
func (b SnowflakeBits) WithDefaults() SnowflakeBits {
	if b.Time == 0 && b.Worker == 0 && b.Sequence == 0 {
		b.Time, b.Worker, b.Sequence = 41, 10, 12
	}
	if b.Workers == 0 && 0 <= b.Worker && b.Worker < 63 {
		b.Workers = 1 << b.Worker
	}
	if b.Unit == 0 {
		b.Unit = time.Millisecond
	}
	if b.Epoch.IsZero() {
		b.Epoch = time.UnixMilli(snowflakeEpoch).UTC()
	}
	return b
}

// Check returns an error that wraps [ErrOptions] if no snowflake can have these bits,
// or if they run out before 2040. It reads no clock: that the epoch is in the
// past is checked when a source is made.
func (b SnowflakeBits) Check() error {
	b = b.WithDefaults()
	switch {
	case b.Time < 1 || b.Worker < 0 || b.Sequence < 0:
		return anchor.Endf("%w: bits: %d of time, %d of worker and %d of sequence; time needs at least 1, and none is less than 0", ErrOptions, b.Time, b.Worker, b.Sequence)
	case b.Time > 63 || b.Worker > 63 || b.Sequence > 63 || b.Width() > 63:
		return anchor.Endf("%w: bits: %d of time, %d of worker and %d of sequence are more than 63",
			ErrOptions, b.Time, b.Worker, b.Sequence)
	case b.Time+b.Sequence > snowflakebits.MaxSlotBits:
		return anchor.Endf("%w: bits: %d of time and %d of sequence are more than %d",
			ErrOptions, b.Time, b.Sequence, snowflakebits.MaxSlotBits)
	case b.Workers < 0 || b.Workers > 1<<b.Worker:
		return anchor.Endf("%w: bits: %d of worker do not hold %d numbers; give worker more", ErrOptions, b.Worker, b.Workers)
	case b.Unit < time.Millisecond || b.Unit > time.Second || b.Unit%time.Millisecond != 0:
		return anchor.Endf("%w: bits: the unit of time is %v; give whole milliseconds up to a second", ErrOptions, b.Unit)
	case b.Epoch.UnixMilli() < 0 || b.Epoch.Year() < 1970 || b.Epoch.Year() >= earliestEnd:
		return anchor.Endf("%w: bits: the epoch is in the year %d; give one from 1970 to %d", ErrOptions, b.Epoch.Year(), earliestEnd-1)
	case b.Epoch.Nanosecond()%int(time.Millisecond) != 0:
		return anchor.Endf("%w: bits: the epoch is not a whole millisecond; give one that is", ErrOptions)
	}
	if end := b.End(); end.Year() < earliestEnd {
		return anchor.Endf("%w: bits: %d of time, counting %v since %s, end on %s, before %d; give time more bits or a longer unit, or take a later epoch",
			ErrOptions, b.Time, b.Unit, b.Epoch.UTC().Format(time.DateOnly), end.Format(time.DateOnly), earliestEnd)
	}
	return nil
}

// Width returns how many bits a key has; every key is below 2 to that power.
func (b SnowflakeBits) Width() int {
	b = b.WithDefaults()
	return b.Time + b.Worker + b.Sequence
}

// String describes the bits; different layouts have different descriptions:
//
//	41 bits of time by 1ms since 2020-01-01T00:00:00Z, 10 of worker, 12 of sequence
func (b SnowflakeBits) String() string {
	b = b.WithDefaults()
	return fmt.Sprintf("%d bits of time by %v since %s, %d of worker, %d of sequence",
		b.Time, b.Unit, b.Epoch.UTC().Format(time.RFC3339Nano), b.Worker, b.Sequence)
}

// Numbers returns how many numbers of workers there are; the first is 0.
func (b SnowflakeBits) Numbers() int { return b.WithDefaults().Workers }

// End returns the first time, in UTC, for which there is no key. The bits must
// be such that [SnowflakeBits.Check] accepts them.
func (b SnowflakeBits) End() time.Time {
	f := b.format()
	return f.TimeOf(f.End)
}

// format returns what the keys are computed with.
func (b SnowflakeBits) format() snowflakebits.Format {
	b = b.WithDefaults()
	return snowflakebits.New(b.Time, b.Worker, b.Sequence, b.Unit, b.Epoch)
}
