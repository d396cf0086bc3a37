package keysource

import "time"

// RecycledStats is the state of a [Recycled] at one moment.
type RecycledStats struct {
	Next    int64 // the lowest key in hand; 0 if there is no key in hand
	Left    int64 // how many are reserved and not handed out
	Series  int64 // the number of the series, from 1; 0 if the source has none
	Room    int64 // how many integers of it are not reserved
	Taken   int64 // abandoned series that were taken over
	Opened  int64 // new series
	Fetches int64 // answers of the store that were accepted
	Waits   int64 // requests that had to wait for the store
	Behind  int64 // keys in use that were found in a series, unless that was an error: how far the greatest was above its next integer
	Err     error // the error of the last attempt; nil after an answer

	Block     int64 // how many integers the next fetch reserves, unless a statement needs more
	Lease     time.Duration
	LeaseHeld bool      // the lease lasts for sure
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

// noteOn measures a claim on a statement's connection.
func (c *claim) noteOn(began time.Time, err error) {
	s := c.src
	now := s.now()
	s.mu.Lock()
	left := s.hand.count()
	s.mu.Unlock()
	s.meter.note(now, now.Sub(began), c.got.n, left, err)
}
