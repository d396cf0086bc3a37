package numbering

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// SourceState has the fields of the public type SourceStats, where they are described.
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
	LeasesLost uint64

	LeaseLostAt time.Time

	LastError   string
	LastErrorAt time.Time

	Upstream string

	UpstreamLeft, UpstreamBlock int64

	UpstreamFetches, UpstreamFetchErrors uint64

	UpstreamError string
}

// StateOf returns the state of a source whose counter has the numbers n, at the time
// now.
func StateOf(source string, n Numbers, now time.Time) SourceState {
	st := SourceState{Source: source, States: 1, Worker: -1}
	switch n := n.(type) {
	case *BlockSequence:
		st.ofSequence(n.Source.Stats(), now)
		st.ofUpstream(n.Upstream)
	case *EngineSequence:
		st.ofSequence(n.Source.Stats(), now)
	case *Recycled:
		st.ofRecycled(n.Source.Stats())
	case *Snowflake:
		st.ofFlake(n.Flake)
	case *JoinedRow:
		st.ofDraws(&n.draws, n.row.Bounds.Max, now)
	case *Scoped:
		st.ofDraws(&n.Joined.draws, 0, now)
	}
	return st
}

func (st *SourceState) ofSequence(from counting.SequenceStats, now time.Time) {
	st.Next, st.Left, st.Block, st.Waits = from.Next, from.Left, from.Block, uint64(from.Waits)
	st.Fetched(from.Fetching)
	st.LastKeyAt = from.LastUse
	if from.Remaining >= 0 {
		st.Max, st.Remaining = from.Max, from.Remaining
		st.exhaust(now)
	}
	st.failed(cmp.Or(from.Err, from.Fetching.Err))
}

// ofUpstream sets the fields about the store from which a sequence gets blocks of
// integers.
func (st *SourceState) ofUpstream(u *upstream.Upstream) {
	if u == nil {
		return
	}
	from := u.Stats()
	st.UpstreamLeft, st.UpstreamBlock = from.Left, from.Block
	st.UpstreamFetches, st.UpstreamFetchErrors = uint64(from.Fetches), uint64(from.Errors)
	if from.Err != nil {
		st.UpstreamError = shownFault(from.Err)
	}
}

func (st *SourceState) ofRecycled(from counting.RecycledStats) {
	st.Next, st.Left, st.Block, st.Waits = from.Next, from.Left, from.Block, uint64(from.Waits)
	st.Fetched(from.Fetching)
	st.LeaseHeld, st.LeaseUntil = from.LeaseHeld, from.Until
	st.failed(cmp.Or(from.Err, from.Fetching.Err))
}

func (st *SourceState) ofFlake(f Flake) {
	var from counting.SnowflakeStats
	switch f := f.(type) {
	case *counting.Snowflake:
		from = f.Stats()
	case *counting.Leased:
		leased := f.Stats()
		from = leased.Snowflake
		from.Err = cmp.Or(leased.Err, from.Err)
		st.LeaseHeld, st.LeaseUntil = leased.LeaseHeld, leased.Until
	}
	st.Worker, st.Waits = int64(from.Worker), uint64(from.Waits)
	st.Fetched(from.Fetching)
	st.LastKeyAt, st.Exhausted = from.Last, from.End
	st.failed(cmp.Or(from.Err, from.Fetching.Err))
}

// ofDraws sets the fields of a source whose numbers are drawn in the transactions of
// statements. last is the last number of its counter, 0 if it has several counters.
func (st *SourceState) ofDraws(d *draws, last int64, now time.Time) {
	f := d.meter.Fetching(now, 0)
	st.Fetched(f)
	next := d.next.Load()
	switch {
	case last <= 0:
	case next > 0:
		st.Next, st.Max, st.Remaining = next, last, max(last-next+1, 0)
		st.exhaust(now)
	case errors.Is(f.Err, keysource.ErrExhausted):
		st.Max = last // the numbers were used up before the first draw
	}
}

// Fetched sets the fields about fetches from a store.
func (st *SourceState) Fetched(f fetching.Fetching) {
	st.Fetches, st.FetchErrors, st.PerSecond = f.Fetches, f.Errors, f.PerSecond
	st.LastFetch, st.SlowestFetch, st.FetchTime, st.LastFetchAt = f.Last, f.Slowest, f.Total, f.LastAt
	if f.Fetches > 0 {
		st.FetchTimes = f.Buckets[:]
	}
	st.LastKeyAt, st.LastErrorAt = f.LastAt, f.ErrAt
	st.failed(f.Err)
}

// failed sets the error of the last attempt.
func (st *SourceState) failed(err error) {
	st.LastError = ""
	if err != nil {
		st.LastError = shownFault(err)
	}
}

// exhaust estimates when the numbers are used up, and sets Exhausted unless that is
// centuries away.
func (st *SourceState) exhaust(now time.Time) {
	const most = 200 * 365 * 24 * time.Hour
	if seconds := float64(st.Remaining) / st.PerSecond; st.PerSecond > 0 && seconds < most.Seconds() {
		st.Exhausted = now.Add(time.Duration(seconds * float64(time.Second)))
	}
}

// Add adds the states of other to st.
func (st *SourceState) Add(other SourceState) {
	if st.States == 0 && other.States > 0 || other.States > 0 && other.LeaseUntil.Before(st.LeaseUntil) {
		st.Worker, st.LeaseHeld, st.LeaseUntil = other.Worker, other.LeaseHeld, other.LeaseUntil
	}
	if st.States += other.States; st.States > 1 {
		st.Next = 0
	} else {
		st.Next = max(st.Next, other.Next)
	}
	st.Left += other.Left
	st.Block = max(st.Block, other.Block)
	if other.Max > 0 && (st.Max == 0 || other.Remaining < st.Remaining) {
		st.Max, st.Remaining = other.Max, other.Remaining
	}
	st.UpstreamLeft += other.UpstreamLeft
	st.UpstreamBlock = max(st.UpstreamBlock, other.UpstreamBlock)
	st.UpstreamError = cmp.Or(st.UpstreamError, other.UpstreamError)
	st.PerSecond += other.PerSecond
	if st.Exhausted.IsZero() || !other.Exhausted.IsZero() && other.Exhausted.Before(st.Exhausted) {
		st.Exhausted = other.Exhausted
	}
	if other.LastKeyAt.After(st.LastKeyAt) {
		st.LastKeyAt = other.LastKeyAt
	}
	st.addFetches(other)
}

// addFetches adds the counts, times and errors of other to st.
func (st *SourceState) addFetches(other SourceState) {
	st.Fetches += other.Fetches
	st.FetchErrors += other.FetchErrors
	st.Waits += other.Waits
	st.LeasesLost += other.LeasesLost
	st.UpstreamFetches += other.UpstreamFetches
	st.UpstreamFetchErrors += other.UpstreamFetchErrors
	st.FetchTime += other.FetchTime
	st.SlowestFetch = max(st.SlowestFetch, other.SlowestFetch)
	if other.LastFetchAt.After(st.LastFetchAt) {
		st.LastFetch, st.LastFetchAt = other.LastFetch, other.LastFetchAt
	}
	if other.LastError != "" && (st.LastError == "" || other.LastErrorAt.After(st.LastErrorAt)) {
		st.LastError = other.LastError
	}
	if other.LastErrorAt.After(st.LastErrorAt) {
		st.LastErrorAt = other.LastErrorAt
	}
	if other.LeaseLostAt.After(st.LeaseLostAt) {
		st.LeaseLostAt = other.LeaseLostAt
	}
	if st.FetchTimes = slices.Clone(st.FetchTimes); st.FetchTimes == nil {
		st.FetchTimes = slices.Clone(other.FetchTimes)
		return
	}
	for i := range other.FetchTimes {
		st.FetchTimes[i].Count += other.FetchTimes[i].Count
	}
}

// faults lists the errors of sources that are shown without details: the details may
// contain a tenant's name.
var faults = []error{
	keysource.ErrStoreBack, keysource.ErrStoreBehind, keysource.ErrExhausted, keysource.ErrWorkerTaken, keysource.ErrClock,
}

// shownFault returns the part of an error that may be shown.
func shownFault(err error) string {
	for _, fault := range faults {
		if errors.Is(err, fault) {
			return fault.Error()
		}
	}
	return report.ShownError(err)
}

// leaseOf returns how long a lease of the source lasts, 0 if the source has no leases.
func leaseOf(s policy.Source) time.Duration {
	if s.Kind == policy.KindRecycled {
		return cmp.Or(s.Lease, counting.DefaultLease)
	}
	return s.WorkerLease
}
