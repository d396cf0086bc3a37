package numbering

import (
	"maps"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// Sums adds up the states of sources, by the name of the source.
type Sums struct {
	all    []SourceState
	places map[string]int
	shared map[sharedFlakeOf]SourceState // the shared snowflakes; they are not in all yet, since each counts once
	Now    time.Time
}

// sharedFlakeOf identifies a snowflake that several counters of a source share.
type sharedFlakeOf struct {
	source string
	flake  Flake
}

// NewSums returns an empty Sums.
func NewSums() *Sums {
	return &Sums{places: map[string]int{}, shared: map[sharedFlakeOf]SourceState{}, Now: time.Now()}
}

// AddPolicy adds the sources of a policy, without their states.
func (s *Sums) AddPolicy(p *policy.Policy) {
	for _, entry := range p.Entries() {
		for i := range entry.Rule.Keys {
			k := &entry.Rule.Keys[i]
			one := s.place(SourceState{Source: table.SourceName(entry.Name, k), Kind: k.Source.Kind, Store: k.Source.Store, Upstream: k.Source.Upstream, Lease: leaseOf(k.Source), Worker: -1})
			if !slices.Contains(one.Tables, entry.Name) {
				one.Tables = append(one.Tables, entry.Name)
			}
		}
	}
}

// place returns the sum of a source. If there is none, it begins one with the given
// state.
func (s *Sums) place(begin SourceState) *SourceState {
	at, known := s.places[begin.Source]
	if !known {
		at = len(s.all)
		s.places[begin.Source] = at
		s.all = append(s.all, begin)
	}
	return &s.all[at]
}

// Add adds a state to the sum of its source. It ignores a source that the policy does
// not name.
func (s *Sums) Add(one SourceState) {
	if at, known := s.places[one.Source]; known {
		s.all[at].Add(one)
	}
}

// AddNumbers adds the state of one counter's numbers. A snowflake that several counters
// share is added once.
func (s *Sums) AddNumbers(n Numbers, one SourceState) {
	f, ok := n.(*Snowflake)
	if !ok || !f.Shared {
		s.Add(one)
		return
	}
	if of := (sharedFlakeOf{one.Source, f.Flake}); s.shared[of].States == 0 {
		s.shared[of] = one
	}
}

// Done returns the counts of a source and the times of its last actions, without its
// current state. The error of its last attempt is omitted, since the source is closed
// and the cause can no longer be removed.
func (st SourceState) Done() SourceState {
	return SourceState{
		Source: st.Source, Kind: st.Kind, Tables: st.Tables, Store: st.Store, Upstream: st.Upstream, Lease: st.Lease, Worker: st.Worker,
		Fetches: st.Fetches, FetchErrors: st.FetchErrors, Waits: st.Waits, LeasesLost: st.LeasesLost,
		UpstreamFetches: st.UpstreamFetches, UpstreamFetchErrors: st.UpstreamFetchErrors,
		LastFetch: st.LastFetch, SlowestFetch: st.SlowestFetch, FetchTime: st.FetchTime,
		LastFetchAt: st.LastFetchAt, FetchTimes: st.FetchTimes, LastKeyAt: st.LastKeyAt, LastErrorAt: st.LastErrorAt, LeaseLostAt: st.LeaseLostAt,
	}
}

// PastSources holds the counts of the sources of closed databases. Its zero value is
// empty. A PastSources is never changed.
type PastSources struct {
	all    []SourceState
	flakes map[sharedFlakeOf]SourceState // the shared snowflakes, from which another database may still draw
}

// Begin returns Sums that have the sources of a policy and the counts of p, without the
// shared snowflakes.
func (p PastSources) Begin(of *policy.Policy) *Sums {
	s := NewSums()
	s.AddPolicy(of)
	s.AddPast(PastSources{all: p.all})
	return s
}

// End returns the counts in s, which p.Begin has returned, and to which the states of a
// closed database were added.
func (p PastSources) End(s *Sums) PastSources {
	flakes := maps.Clone(p.flakes)
	for of, one := range s.shared {
		for old, past := range flakes {
			// A worker number belongs to one snowflake at a time, so the old snowflake is
			// closed.
			if old.source == of.source && old.flake != of.flake && past.Worker == one.Worker {
				s.Add(past)
				delete(flakes, old)
			}
		}
		if flakes == nil {
			flakes = map[sharedFlakeOf]SourceState{}
		}
		flakes[of] = one.Done()
	}
	all := make([]SourceState, len(s.all))
	for i, one := range s.all {
		all[i] = one.Done()
	}
	return PastSources{all, flakes}
}

// Total returns the summed states of all sources.
func (s *Sums) Total() []SourceState {
	for _, one := range s.shared {
		s.Add(one)
	}
	return s.all
}

// AddPast adds the counts of closed databases.
func (s *Sums) AddPast(p PastSources) {
	for _, one := range p.all {
		begin := SourceState{Source: one.Source, Kind: one.Kind, Tables: slices.Clone(one.Tables), Store: one.Store, Upstream: one.Upstream, Lease: one.Lease, Worker: -1}
		s.place(begin).Add(one)
	}
	for of, past := range p.flakes {
		s.shared[of] = past
	}
}
