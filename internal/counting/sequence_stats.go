package counting

import (
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

// SequenceStats is the state of a [Sequence] at one moment.
type SequenceStats struct {
	Next    int64 // the key that a request for one key would get; 0 if the request would have to wait
	Left    int64 // how many integers are reserved and not handed out
	Fetches int64 // how many answers of the store were accepted
	Waits   int64 // how many requests had to wait for the store
	Behind  int64 // how far the store's counter was below the keys in use at first, if that was no error
	Err     error // the error of the last fetch; nil if the store has answered it

	Block int64 // how many integers the next fetch reserves, unless a statement needs more
	Max   int64 // the last integer
	// Remaining is how many integers there are up to Max, the reserved ones included, as
	// far as this source knows; -1 before the first answer.
	Remaining int64
	Fetching  fetching.Fetching
	LastUse   time.Time // when a request last needed the store or the next block; the zero Time if none has
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
	st.Block, st.Max, st.Remaining = s.size.n, s.max, -1
	st.Fetching = s.meter.Fetching(s.now(), st.Left)
	switch {
	case s.fetches > 0:
		st.Remaining = max(s.room(), 0) + st.Left
	case errors.Is(st.Fetching.Err, keysource.ErrExhausted):
		st.Remaining = 0 // other processes have used all integers before the first request
	}
	if st.LastUse = st.Fetching.LastAt; s.current.Load().begun.After(st.LastUse) {
		st.LastUse = s.current.Load().begun
	}
	return st
}

// noteOn records a reservation on a statement's connection in the statistics.
func (a *ask) noteOn(got answer, began time.Time) {
	s := a.src
	now := s.now()
	s.mu.Lock()
	left := s.left()
	s.mu.Unlock()
	s.meter.Note(now, now.Sub(began), got.N, left, got.err)
}
