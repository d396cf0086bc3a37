package keys

import (
	"maps"
	"slices"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sums are the states of sources, by the name of the source.
type sums struct {
	all    []SourceState
	places map[string]int
	shared map[sharedFlakeOf]SourceState // not in all yet: each counts once
	now    time.Time
}

// sharedFlakeOf is a snowflake that several counters of a source share.
type sharedFlakeOf struct {
	source string
	flake  flake
}

func newSums() *sums {
	return &sums{places: map[string]int{}, shared: map[sharedFlakeOf]SourceState{}, now: time.Now()}
}

// SourceStates returns the states of the sources of some databases, in the order of the
// entries of the first one's policy. Sources of one name are summed up, and the counts of
// closed databases are added.
func SourceStates(all []*Sources, past PastSources) []SourceState {
	s := newSums()
	for _, db := range all {
		s.addPolicy(db.AnyEngine().Policy)
	}
	s.addPast(past)
	for _, db := range all {
		s.addDatabase(db)
	}
	for _, one := range s.shared {
		s.add(one)
	}
	return s.all
}

// addPolicy adds the sources of a policy, without their states.
func (s *sums) addPolicy(p *policy.Policy) {
	for _, entry := range p.Entries() {
		for i := range entry.Rule.Keys {
			k := &entry.Rule.Keys[i]
			one := s.place(SourceState{Source: SourceName(entry.Name, k), Kind: k.Source.Kind, Store: k.Source.Store, Upstream: k.Source.Upstream, Lease: leaseOf(k.Source), Worker: -1})
			if !slices.Contains(one.Tables, entry.Name) {
				one.Tables = append(one.Tables, entry.Name)
			}
		}
	}
}

// place returns the sum of a source, which begins as the given state where there is none.
func (s *sums) place(begin SourceState) *SourceState {
	at, known := s.places[begin.Source]
	if !known {
		at = len(s.all)
		s.places[begin.Source] = at
		s.all = append(s.all, begin)
	}
	return &s.all[at]
}

// add adds a state to its source's sum. A source that the policy does not name has none.
func (s *sums) add(one SourceState) {
	if at, known := s.places[one.Source]; known {
		s.all[at].add(one)
	}
}

// addDatabase adds the states of the sources of a database.
func (s *sums) addDatabase(db *Sources) {
	db.counters.addTo(s)
	db.maxima.Range(func(name, meter any) bool {
		one := SourceState{Source: name.(string), States: 1, Worker: -1}
		one.fetched(meter.(*keysource.Meter).Fetching(s.now, 0))
		s.add(one)
		return true
	})
	db.losses.all.Range(func(name, lost any) bool {
		of := lost.(*losses)
		s.add(SourceState{Source: name.(string), LeasesLost: of.count.Load(), LeaseLostAt: timeOf(of.last.Load())})
		return true
	})
}

// addCounter adds the state of a counter. A snowflake that counters share is added once,
// as it is in a database that is open.
func (s *sums) addCounter(c *counter, one SourceState) {
	f, ok := c.numbers.(*snowflake)
	if !ok || !f.shared {
		s.add(one)
		return
	}
	if of := (sharedFlakeOf{c.source, f.flake}); s.shared[of].States == 0 {
		s.shared[of] = one
	}
}

// addTo adds the states of the open counters, and the counts of the closed ones.
func (c *Counters) addTo(s *sums) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.past {
		s.add(one)
	}
	for _, one := range c.all {
		s.addCounter(one, one.stateAt(s.now))
	}
	for _, one := range c.ended {
		s.addCounter(one, one.stateAt(s.now).done())
	}
}

// keepPast keeps the counts of a counter that is about to be closed. c.mu must be held.
func (c *Counters) keepPast(one *counter) {
	if one.source == "" {
		return
	}
	past, known := c.past[one.source]
	if !known {
		past = SourceState{Source: one.source, Worker: -1}
	}
	past.add(one.stateAt(time.Now()).done())
	if c.past == nil {
		c.past = map[string]SourceState{}
	}
	c.past[one.source] = past
}

// done returns the counts of a source and the times of its last actions, without its
// state. The error of its last attempt is left out, since nobody can mend it any more.
func (st SourceState) done() SourceState {
	return SourceState{
		Source: st.Source, Kind: st.Kind, Tables: st.Tables, Store: st.Store, Upstream: st.Upstream, Lease: st.Lease, Worker: st.Worker,
		Fetches: st.Fetches, FetchErrors: st.FetchErrors, Waits: st.Waits, LeasesLost: st.LeasesLost,
		UpstreamFetches: st.UpstreamFetches, UpstreamFetchErrors: st.UpstreamFetchErrors,
		LastFetch: st.LastFetch, SlowestFetch: st.SlowestFetch, FetchTime: st.FetchTime,
		LastFetchAt: st.LastFetchAt, FetchTimes: st.FetchTimes, LastKeyAt: st.LastKeyAt, LastErrorAt: st.LastErrorAt, LeaseLostAt: st.LeaseLostAt,
	}
}

// PastSources holds the counts of the sources of closed databases. The zero value is
// empty. A PastSources is never changed.
type PastSources struct {
	all    []SourceState
	flakes map[sharedFlakeOf]SourceState // which another database may draw from
}

// With returns the sum of p and the counts of the sources of db, which is closed.
func (p PastSources) With(db *Sources) PastSources {
	s := newSums()
	s.addPolicy(db.AnyEngine().Policy)
	s.addPast(PastSources{all: p.all})
	s.addDatabase(db)
	flakes := maps.Clone(p.flakes)
	for of, one := range s.shared {
		for old, past := range flakes {
			// One worker's number belongs to one snowflake at a time: the other one is closed.
			if old.source == of.source && old.flake != of.flake && past.Worker == one.Worker {
				s.add(past)
				delete(flakes, old)
			}
		}
		if flakes == nil {
			flakes = map[sharedFlakeOf]SourceState{}
		}
		flakes[of] = one.done()
	}
	all := make([]SourceState, len(s.all))
	for i, one := range s.all {
		all[i] = one.done()
	}
	return PastSources{all, flakes}
}

// addPast adds the counts of closed databases.
func (s *sums) addPast(p PastSources) {
	for _, one := range p.all {
		begin := SourceState{Source: one.Source, Kind: one.Kind, Tables: slices.Clone(one.Tables), Store: one.Store, Upstream: one.Upstream, Lease: one.Lease, Worker: -1}
		s.place(begin).add(one)
	}
	for of, past := range p.flakes {
		s.shared[of] = past
	}
}
