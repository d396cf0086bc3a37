package keyfillhttp

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/keyfill/keyfill"
)

// Report is the content of the page, and the form of its JSON. The names of the JSON fields
// will not change; new fields may be added. Times are in UTC as RFC 3339 writes them.
type Report struct {
	// Time is when the report was made.
	Time time.Time `json:"time"`
	// Attention lists the findings that need an operator's attention, the worst first. It
	// is empty if all is well.
	Attention []Finding `json:"attention"`
	// Sources lists the sources of the policy in its order. On the mount of a registered
	// name, sources of one name are summed up over all open databases.
	Sources []Source `json:"sources"`
	// Tables lists the tables, those with a finding first, then by name.
	Tables []Table `json:"tables"`
	// Passed counts statements with a word like INSERT that are no INSERTs into
	// configured tables.
	Passed uint64 `json:"passed"`
}

// Table counts the outcomes of the INSERTs into one table since the mount was opened.
// [keyfill.TableStats] describes each count.
type Table struct {
	Name     string  `json:"name"`
	Entry    string  `json:"entry"` // the entry of the policy
	Filled   uint64  `json:"filled"`
	Keys     uint64  `json:"keys"`
	Stored   uint64  `json:"stored"`
	LeftOut  uint64  `json:"left_out"`
	Failed   []Count `json:"failed"` // includes INSERTs that were not sent
	Unknown  []Count `json:"unknown"`
	Kept     uint64  `json:"kept"`
	Refused  []Count `json:"refused"`
	Withheld uint64  `json:"withheld"`
	Suspects uint64  `json:"suspects"`

	NoKeyAt   time.Time `json:"no_key_at,omitzero"`          // when an INSERT last got no key
	KeysSince uint64    `json:"keys_since_no_key,omitempty"` // how many keys were added since then
	SuspectAt time.Time `json:"suspect_at,omitzero"`
}

// Count is how often something happened for one cause.
type Count struct {
	// Cause is a [keyfill.Cause] or a [keyfill.Reason].
	Cause string `json:"cause"`
	Count uint64 `json:"count"`
	// Text is the sentence that explains a reason; empty for a cause.
	Text string `json:"text,omitempty"`
}

// Source is the state of a source. [keyfill.SourceStats] describes each field.
type Source struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Store  string   `json:"store,omitempty"`
	Tables []string `json:"tables"`
	States int      `json:"states"`

	Left      int64     `json:"left"`  // how many numbers are reserved and not handed out
	Block     int64     `json:"block"` // how many numbers the next fetch reserves
	Max       int64     `json:"max,omitempty"`
	Remaining int64     `json:"remaining"` // how many numbers up to Max are left
	PerSecond float64   `json:"per_second"`
	Exhausted time.Time `json:"exhausted,omitzero"`

	Fetches             uint64    `json:"fetches"`
	FetchErrors         uint64    `json:"fetch_errors"`
	Waits               uint64    `json:"waits"`
	LastFetchAt         time.Time `json:"last_fetch_at,omitzero"`
	LastFetchSeconds    float64   `json:"last_fetch_seconds"`
	MeanFetchSeconds    float64   `json:"mean_fetch_seconds"`
	SlowestFetchSeconds float64   `json:"slowest_fetch_seconds"`
	LastKeyAt           time.Time `json:"last_key_at,omitzero"`

	Worker *int64 `json:"worker,omitempty"`
	Lease  *Lease `json:"lease,omitempty"`

	LastError   string    `json:"last_error,omitempty"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// Lease is the right of a process to a worker's number, or to a series (a range of
// integers). The lease of an idle process expires, and the process takes a new one with its
// next key.
type Lease struct {
	Seconds float64   `json:"seconds"`
	Held    bool      `json:"held"`
	Until   time.Time `json:"until,omitzero"`
	Lost    uint64    `json:"lost"` // how often another process had taken the number or series after the lease expired
	LostAt  time.Time `json:"lost_at,omitzero"`
}

// NewReport returns the state of a mount (keyfill's handle on a database) now. It asks no
// database.
func NewReport(m *keyfill.Mount) Report {
	return reportOf(time.Now().UTC(), m.Stats(), m.Sources())
}

func reportOf(now time.Time, stats keyfill.Stats, sources []keyfill.SourceStats) Report {
	r := Report{Time: now, Attention: []Finding{}, Sources: []Source{}, Tables: []Table{}, Passed: stats.Passed}
	for _, s := range sources {
		source := sourceOf(s)
		r.Sources = append(r.Sources, source)
		r.Attention = append(r.Attention, source.findings(now)...)
	}
	needs := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(stats.Tables)) {
		t := tableOf(name, stats.Tables[name])
		found := t.findings(now)
		needs[name] = len(found) > 0
		r.Tables = append(r.Tables, t)
		r.Attention = append(r.Attention, found...)
	}
	r.Attention = append(r.Attention, unmatched(r)...)
	slices.SortStableFunc(r.Attention, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	slices.SortStableFunc(r.Tables, func(a, b Table) int { return -compareBool(needs[a.Name], needs[b.Name]) })
	return r
}

// compareBool compares two values in the order false, true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func tableOf(name string, s keyfill.TableStats) Table {
	return Table{
		Name: name, Entry: s.Entry,
		Filled: s.Filled, Keys: s.Keys, Stored: s.Stored, LeftOut: s.LeftOut,
		Failed:  countsOf(s.FailedBy, nil),
		Unknown: countsOf(s.UnknownBy, nil),
		Kept:    s.Kept, Withheld: s.Withheld, Suspects: s.Suspects,
		Refused: countsOf(s.Refused, keyfill.Reason.Text),
		NoKeyAt: utc(s.NoKeyAt), KeysSince: s.KeysSince, SuspectAt: utc(s.SuspectAt),
	}
}

// countsOf returns counts as a list, the greatest first.
func countsOf[C ~string](by map[C]uint64, text func(C) string) []Count {
	counts := []Count{}
	for cause, n := range by {
		c := Count{Cause: string(cause), Count: n}
		if text != nil {
			c.Text = text(cause)
		}
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
	})
	return counts
}

// sum adds up counts.
func sum(counts []Count) (n uint64) {
	for _, c := range counts {
		n += c.Count
	}
	return n
}

func sourceOf(s keyfill.SourceStats) Source {
	source := Source{
		Name: s.Source, Kind: s.Kind, Store: s.Store, Tables: slices.Clone(s.Tables), States: s.States,
		Left: s.Left, Block: s.Block, Max: s.Max, Remaining: s.Remaining, PerSecond: s.PerSecond, Exhausted: utc(s.Exhausted),
		Fetches: s.Fetches, FetchErrors: s.FetchErrors, Waits: s.Waits,
		LastFetchAt: utc(s.LastFetchAt), LastFetchSeconds: s.LastFetch.Seconds(), SlowestFetchSeconds: s.SlowestFetch.Seconds(),
		LastKeyAt: utc(s.LastKeyAt), LastError: s.LastError, LastErrorAt: utc(s.LastErrorAt),
	}
	if s.Fetches > 0 {
		source.MeanFetchSeconds = s.FetchTime.Seconds() / float64(s.Fetches)
	}
	if s.Worker >= 0 {
		source.Worker = &s.Worker
	}
	if s.Lease > 0 && s.States > 0 {
		source.Lease = &Lease{Seconds: s.Lease.Seconds(), Held: s.LeaseHeld, Until: utc(s.LeaseUntil), Lost: s.LeasesLost, LostAt: utc(s.LeaseLostAt)}
	}
	return source
}

// utc returns a time in UTC, and the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
