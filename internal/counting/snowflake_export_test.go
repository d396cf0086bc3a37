package counting

import (
	"math"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TimeOf returns the time of a key.
func TimeOf(b keysource.SnowflakeBits, key int64) time.Time {
	f := formatOf(b)
	tick, _, _ := f.Split(key)
	return f.TimeOf(tick)
}

// TrustClock makes the wall clock's the time of the next key even where that is
// before the last one's.
func (s *Snowflake) TrustClock() {
	free := s.free.Load()
	if tick := s.clock() / s.Unit; tick < free>>s.SequenceBits {
		s.free.CompareAndSwap(free, max(tick, 1)<<s.SequenceBits)
	}
}

// SkipStart makes a source without a Marker begin at once.
func (s *Snowflake) SkipStart() {
	s.free.Store(1 << s.SequenceBits)
	s.start.Store(-1)
	s.publish([]ticks{{1, s.End}}, math.MaxInt64)
}
