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
	// number that keyfill has made.
	SessionReads atomic.Uint64
	mu           sync.Mutex
	tables       map[string]*TableTally // by the table's name; after the first MaxTables, all tables share ""
}

// TableTally counts the outcomes of INSERTs into one table.
//
// Filled statements are counted by outcome, and summed up when the counts are read.
// Since each counter only grows, every sum of them only grows too, whenever it is read.
type TableTally struct {
	entry string // the policy's entry; empty if t is shared by the tables after the first MaxTables

	Keys, Kept, Withheld atomic.Uint64
	suspects             atomic.Uint64
	suspectAt            atomic.Int64 // when a key was last found in use (a suspect), in nanoseconds of the Unix time

	// Ended counts the filled statements whose outcome was known at once. Begun counts all
	// other filled statements, and Late counts their outcomes. WouldFill counts statements
	// that would be filled but were sent unchanged.
	Ended, Late      Outcomes
	Begun, WouldFill atomic.Uint64

	// Single counts the filled statements with one key that was stored. No other counter
	// counts these statements, since adding to two counters would take twice as long.
	Single atomic.Uint64

	noKey [numCauses]atomic.Uint64 // counts the INSERTs that got no key and were not sent, by cause

	// noKeyAt is the time of the last INSERT that got no key because of its source, in
	// nanoseconds of the Unix time; keysThen is how many keys had been added by then.
	noKeyAt  atomic.Int64
	keysThen atomic.Uint64

	mu      sync.Mutex
	refused map[rewrite.Reason]uint64
}

// Outcomes counts filled statements by outcome.
type Outcomes struct {
	Stored, LeftOut atomic.Uint64
	failed, unknown [numCauses - CauseCanceled]atomic.Uint64 // by cause; the first element is for CauseCanceled
}

// AddFailed counts n statements that stored no key. The cause must be CauseCanceled or
// a later one.
func (o *Outcomes) AddFailed(c Cause, n uint64) { o.failed[c-CauseCanceled].Add(n) }

// AddUnknown counts n statements of unknown outcome. The cause must be CauseCanceled or
// a later one.
func (o *Outcomes) AddUnknown(c Cause, n uint64) { o.unknown[c-CauseCanceled].Add(n) }

// addTo adds the counts to t, and returns how many statements it has added.
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

// count adds the value of a counter to the counts by cause, and returns that value.
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

// TableCounts are the counts of one table at one moment.
type TableCounts struct {
	Entry                                  string
	Filled, Keys, Kept, Withheld, Suspects uint64
	Stored, LeftOut, Failed, Unknown       uint64
	FailedBy, UnknownBy                    map[Cause]uint64
	Refused                                map[rewrite.Reason]uint64
	NoKeyAt, SuspectAt                     time.Time
	KeysSince                              uint64
}

// Of returns the counts of a table, which are kept under the name that the policy has
// matched.
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

// AddNoKey counts an INSERT that got no key and was not sent.
func (t *TableTally) AddNoKey(c Cause) {
	if c < CauseCanceled {
		t.keysThen.Store(t.Keys.Load() + t.Single.Load())
		t.noKeyAt.Store(time.Now().UnixNano())
	}
	t.noKey[c].Add(1)
}

// AddSuspect counts a key that was found in the table already.
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
	// Read Late before Begun: each late outcome was counted in Begun before, so Late is
	// never greater.
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

// MaxTables is the greatest number of tables that are remembered. A glob may match more
// tables; what is known about each further one is determined anew for each query text.
const MaxTables = 10000

// TimeOf converts nanoseconds of the Unix time to a Time; it returns the zero Time for
// 0.
func TimeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
