package keysource

import "time"

// RecycledStats is the state of a [Recycled] at one moment.
type RecycledStats struct {
	Next    int64 // the lowest key in hand; 0 if there is none
	Left    int64 // how many integers are reserved and not handed out
	Series  int64 // the number of the owned series, from 1; 0 if the source owns none
	Room    int64 // how many integers of the series are not reserved
	Taken   int64 // how many abandoned series were taken over
	Opened  int64 // how many new series were opened
	Fetches int64 // how many answers of the store were accepted
	Waits   int64 // how many requests had to wait for the store
	Behind  int64 // how far a key in the table was above the next integer of its series, at most, when that was no error
	Err     error // the error of the last attempt; nil after an answer

	Block     int64 // how many integers the next fetch reserves, unless a statement needs more
	Lease     time.Duration
	LeaseHeld bool      // whether the lease surely lasts
	Until     time.Time // when the lease ends unless it is renewed; zero without a lease
	Fetching  Fetching
}

// Stats returns the state of the source. It does no I/O.
func (s *Recycled) Stats() RecycledStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := RecycledStats{Taken: s.taken, Opened: s.opened, Fetches: s.fetches, Waits: s.waits, Behind: s.behind, Err: s.fault}
	if st.Err == nil {
		st.Err = s.failure
	}
	for _, r := range s.hand {
		st.Left += r.n
		if st.Next == 0 || r.first < st.Next {
			st.Next = r.first
		}
	}
	if s.held.First > 0 {
		st.Series = (s.held.First-1)/s.seriesN + 1
		st.Room = s.held.Last - s.held.Next + 1
		st.Until = s.sent.Add(s.lease)
	}
	now := s.now()
	st.Block, st.Lease, st.LeaseHeld = s.size.n, s.lease, s.leased(now)
	st.Fetching = s.meter.Fetching(now, st.Left)
	return st
}

// noteOn records a claim on a statement's connection in the statistics.
func (c *claim) noteOn(began time.Time, err error) {
	s := c.src
	now := s.now()
	s.mu.Lock()
	left := s.hand.count()
	s.mu.Unlock()
	s.meter.note(now, now.Sub(began), c.got.n, left, err)
}
