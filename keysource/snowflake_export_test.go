package keysource

import (
	"math"
	"time"
)

// OrdinalOf is [SnowflakeOptions].Ordinal for a host of that name.
func OrdinalOf(host string, limit int) (int, error) { return ordinalOf(host, limit) }

// TimeOf returns the time of a key.
func TimeOf(b SnowflakeBits, key int64) time.Time {
	f := b.format()
	tick, _, _ := f.split(key)
	return f.timeOf(tick)
}

// TrustClock makes the wall clock's the time of the next key even where that is
// before the last one's.
func (s *Snowflake) TrustClock() {
	free := s.free.Load()
	if tick := s.clock() / s.unit; tick < free>>s.sequenceBits {
		s.free.CompareAndSwap(free, max(tick, 1)<<s.sequenceBits)
	}
}

// SkipStart makes a source without a Marker begin at once.
func (s *Snowflake) SkipStart() {
	s.free.Store(1 << s.sequenceBits)
	s.start.Store(-1)
	s.publish([]ticks{{1, s.end}}, math.MaxInt64)
}
