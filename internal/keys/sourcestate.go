package keys

import (
	"cmp"
	"slices"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// SourceState has the fields of the public SourceStats, which describe them.
type SourceState struct {
	Source string
	Kind   string
	Tables []string
	Store  string
	States int

	Next, Left, Block int64

	Max       int64
	Remaining int64
	PerSecond float64
	Exhausted time.Time

	Fetches, FetchErrors, Waits uint64

	LastFetch, SlowestFetch, FetchTime time.Duration

	LastFetchAt time.Time
	FetchTimes  []keysource.FetchBucket
	LastKeyAt   time.Time

	Worker     int64
	Lease      time.Duration
	LeaseHeld  bool
	LeaseUntil time.Time

	LastError   string
	LastErrorAt time.Time
}

// sourceName returns the name under which the states of a key column's source are
// summed: there are no more of them than the policy has sources.
func sourceName(entry string, k *policy.RuleKey) string {
	if k.Own {
		return entry + "." + k.Column
	}
	return cmp.Or(k.Source.Name, k.State)
}

// sums are the states of sources, by the name of the source.
type sums struct {
	all    []SourceState
	places map[string]int
}

// SourceStates returns the states of the sources of some databases, in the order of the
// entries of the first one's policy. Sources of one name are summed up.
func SourceStates(all []*Tables) []SourceState {
	s := sums{places: map[string]int{}}
	for _, db := range all {
		s.addPolicy(db.AnyEngine().Policy)
	}
	return s.all
}

// addPolicy adds the sources of a policy, without their states.
func (s *sums) addPolicy(p *policy.Policy) {
	for _, entry := range p.Entries() {
		for i := range entry.Rule.Keys {
			k := &entry.Rule.Keys[i]
			one := s.named(sourceName(entry.Name, k))
			one.Kind, one.Store, one.Lease = k.Source.Kind, k.Source.Store, leaseOf(k.Source)
			if !slices.Contains(one.Tables, entry.Name) {
				one.Tables = append(one.Tables, entry.Name)
			}
		}
	}
}

// named returns the sum of the source of a name.
func (s *sums) named(name string) *SourceState {
	at, known := s.places[name]
	if !known {
		at = len(s.all)
		s.places[name] = at
		s.all = append(s.all, SourceState{Source: name, Worker: -1})
	}
	return &s.all[at]
}

// leaseOf returns how long a lease of the source lasts, 0 where it has none.
func leaseOf(s policy.Source) time.Duration {
	if s.Kind == policy.KindRecycled {
		return cmp.Or(s.Lease, keysource.DefaultLease)
	}
	return s.WorkerLease
}
