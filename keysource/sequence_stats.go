package keysource

// SequenceStats is the state of a [Sequence] at one moment.
type SequenceStats struct {
	Next    int64 // the key that a request for one would get; 0 if it would have to wait
	Left    int64 // how many are reserved and not handed out
	Fetches int64 // answers of the store that were accepted
	Waits   int64 // requests that had to wait for the store
	Behind  int64 // how far the store stood below the keys in use at first, unless that was an error
	Err     error // what the last fetch failed with; nil after an answer
}

// Stats returns the state of the source. It does no I/O.
func (s *Sequence) Stats() SequenceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := SequenceStats{Fetches: s.fetches, Waits: s.waits, Behind: s.behind, Err: s.fault}
	if st.Err == nil {
		st.Err = s.failure
	}
	left := s.current.Load().left()
	st.Left = left.n + s.spare.n
	switch {
	case left.n > 0:
		st.Next = left.first
	case s.spare.n > 0:
		st.Next = s.spare.first
	}
	return st
}
