package report

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/rewrite"
)

// Tally counts the outcomes of INSERTs in one database. It is safe for concurrent use.
type Tally struct {
	Passed atomic.Uint64
	// SessionReads counts statements that were sent although they ask the session for a
	// number which keyfill has made.
	SessionReads atomic.Uint64
	mu           sync.Mutex
	tables       map[string]*TableTally // by name; tables after the first MaxTables share ""
}

// TableTally counts the outcomes of INSERTs into one table.
//
// The filled statements are counted by outcome, and summed up when the counts are read: each
// counter only grows, and so does every sum of them, whenever it is read.
type TableTally struct {
	entry string // of the policy; empty if the tables after the first MaxTables share t

	Keys, Kept, Withheld atomic.Uint64
	suspects             atomic.Uint64
	suspectAt            atomic.Int64 // when the last one was found, in nanoseconds of the Unix time

	// Ended counts the filled statements whose outcome was known at once. Begun counts the
	// others, and Late their outcomes. WouldFill counts those that were sent as they came.
	Ended, Late      Outcomes
	Begun, WouldFill atomic.Uint64

	// Single counts the filled statements that stored their only key, which are in none of
	// the others: two counters cost twice what one does.
	Single atomic.Uint64

	noKey [numCauses]atomic.Uint64 // INSERTs that were not sent

	// noKeyAt is the time of the last of them whose cause is a source's, in nanoseconds of the
	// Unix time, and keysThen how many keys had been added then.
	noKeyAt  atomic.Int64
	keysThen atomic.Uint64

	mu      sync.Mutex
	refused map[rewrite.Reason]uint64
}

// Outcomes counts filled statements by outcome.
type Outcomes struct {
	Stored, LeftOut atomic.Uint64
	failed, unknown [numCauses - CauseCanceled]atomic.Uint64 // from CauseCanceled on
}

// AddFailed counts n statements that stored no key. The cause is CauseCanceled or a later one.
func (o *Outcomes) AddFailed(c Cause, n uint64) { o.failed[c-CauseCanceled].Add(n) }

// AddUnknown counts n statements of unknown outcome. The cause is as for AddFailed.
func (o *Outcomes) AddUnknown(c Cause, n uint64) { o.unknown[c-CauseCanceled].Add(n) }

// addTo adds the counts to t.
func (o *Outcomes) addTo(t *TableCounts) (all uint64) {
	before := t.Stored + t.LeftOut + t.Failed + t.Unknown
	t.Stored += o.Stored.Load()
	t.LeftOut += o.LeftOut.Load()
	for i := range o.failed {
		t.Failed += count(&t.FailedBy, CauseCanceled+Cause(i), &o.failed[i])
		t.Unknown += count(&t.UnknownBy, CauseCanceled+Cause(i), &o.unknown[i])
	}
	return t.Stored + t.LeftOut + t.Failed + t.Unknown - before
}

// count adds a counter to the counts by cause, and returns what it has counted.
func count(by *map[Cause]uint64, c Cause, counter *atomic.Uint64) uint64 {
	n := counter.Load()
	if n > 0 {
		if *by == nil {
			*by = map[Cause]uint64{}
		}
		(*by)[c] += n
	}
	return n
}

// TableCounts are the counts of one table at one time.
type TableCounts struct {
	Entry                                  string
	Filled, Keys, Kept, Withheld, Suspects uint64
	Stored, LeftOut, Failed, Unknown       uint64
	FailedBy, UnknownBy                    map[Cause]uint64
	Refused                                map[rewrite.Reason]uint64
	NoKeyAt, SuspectAt                     time.Time
	KeysSince                              uint64
}

// Of returns the counts of a table, which stand under the name that the policy matched.
func (c *Tally) Of(name, entry string) *TableTally {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil {
		c.tables = map[string]*TableTally{}
	}
	if c.tables[name] == nil && len(c.tables) >= MaxTables {
		name, entry = "", ""
	}
	t := c.tables[name]
	if t == nil {
		t = &TableTally{entry: entry}
		c.tables[name] = t
	}
	return t
}

// Refuse counts a statement that cannot be filled.
func (t *TableTally) Refuse(r rewrite.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		t.refused = map[rewrite.Reason]uint64{}
	}
	t.refused[r]++
}

// AddNoKey counts an INSERT that got no key, and was not sent.
func (t *TableTally) AddNoKey(c Cause) {
	if c < CauseCanceled {
		t.keysThen.Store(t.Keys.Load() + t.Single.Load())
		t.noKeyAt.Store(time.Now().UnixNano())
	}
	t.noKey[c].Add(1)
}

// AddSuspect counts a key that the table had already.
func (t *TableTally) AddSuspect() {
	t.suspectAt.Store(time.Now().UnixNano())
	t.suspects.Add(1)
}

// Counts returns how many INSERTs were passed, and the counts of each table.
func (c *Tally) Counts() (passed uint64, tables map[string]TableCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tables = make(map[string]TableCounts, len(c.tables))
	for name, t := range c.tables {
		tables[name] = t.counts()
	}
	return c.Passed.Load(), tables
}

func (t *TableTally) counts() TableCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted := TableCounts{
		Entry: t.entry,
		Keys:  t.Keys.Load(), Kept: t.Kept.Load(), Refused: maps.Clone(t.refused),
		Withheld: t.Withheld.Load(), Suspects: t.suspects.Load(),
		SuspectAt: TimeOf(t.suspectAt.Load()), NoKeyAt: TimeOf(t.noKeyAt.Load()),
	}
	// What is late was begun before: so read, there is never more late than begun.
	t.Late.addTo(&counted)
	single := t.Single.Load()
	counted.Keys += single
	counted.Filled = single + t.Begun.Load() + t.WouldFill.Load() + t.Ended.addTo(&counted)
	counted.Stored += single
	if then := t.keysThen.Load(); !counted.NoKeyAt.IsZero() && counted.Keys > then {
		counted.KeysSince = counted.Keys - then
	}
	for c := range t.noKey {
		count(&counted.FailedBy, Cause(c), &t.noKey[c])
	}
	return counted
}

// MaxTables bounds the tables that are remembered. Beyond it, which globs can reach, a table
// is made anew for each query text.
const MaxTables = 10000

// TimeOf returns the time of nanoseconds of the Unix time, the zero Time for 0.
func TimeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
