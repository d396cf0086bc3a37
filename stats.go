package keyfill

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Stats says what a mount has done since it was opened, in statements.
//
// A statement counts once for each execution, when the driver has taken it. A
// bulk load counts once for each row. A prepared statement counts once, when it
// is prepared, if its text alone tells that it is kept or passed, if it is
// refused, or if it is sent under the mode off.
type Stats struct {
	// Passed counts statements with a word like INSERT that are not INSERTs
	// into configured tables. Statements without such a word are not counted.
	Passed uint64
	// Tables holds the counts by table, under the name that the policy matched.
	// The caller owns the map.
	Tables map[string]TableStats
}

// OtherTables is the name under which [Stats] counts all tables after the first
// 10,000, since a glob can match any number of them.
const OtherTables = "…"

// Reason is why a statement cannot be filled, as a word of lower-case letters
// and _ that will not change: "select", "no_column_list". It is fit for the
// label of a metric. The words are those of package rewrite, whose Reasons
// errors.Is finds in an [*Error].
type Reason string

// Text returns the sentence that the error of such a statement ends in: what is
// wrong, and what to change. It is "" for a word that is no reason.
func (r Reason) Text() string { return rewrite.Reason(r).Error() }

// TableStats says what was done with the INSERTs into one table.
type TableStats struct {
	Filled  uint64            // statements that got at least one key, whatever became of them
	Keys    uint64            // keys that were added
	Kept    uint64            // statements that brought their own keys
	Refused map[Reason]uint64 // statements that cannot be filled, by cause

	// Failed counts the filled statements that ended in an error and stored no
	// key. Unknown counts the filled statements whose error does not tell whether
	// a key is stored: the connection broke, or some of several rows may be
	// stored. An error that comes only while the caller reads the rows of
	// RETURNING is not counted, unless the keys are recorded or are numbers.
	Failed, Unknown uint64

	// Withheld counts the filled and refused statements that were sent as they
	// came, because of the mode or of "unsupported: unfilled".
	Withheld uint64

	// Suspects counts the keys that the engine found in the table already: another
	// program fills the column too, or the store has gone back.
	Suspects uint64
}

// counters are the Stats of one mount as they grow.
type counters struct {
	passed atomic.Uint64
	mu     sync.Mutex
	tables map[string]*tally
}

// tally is the TableStats of one table as they grow. Only the reasons of refusals
// have a lock.
type tally struct {
	filled, keys, kept        atomic.Uint64
	failed, unknown, withheld atomic.Uint64
	suspects                  atomic.Uint64

	mu      sync.Mutex
	refused map[Reason]uint64
}

// event is one statement to count and to report.
type event struct {
	counts   bool // false: there is nothing to count
	table    string
	owner    *table // nil where the name alone is at hand
	action   rewrite.Action
	keys     int
	reason   rewrite.Reason
	offset   int
	mode     policy.Mode
	withheld bool
	rest     []event // of the other INSERTs of the text

	// worked is the plan of an INSERT that is kept for an expression in a key's
	// place, which an option of the driver may change.
	worked *rewrite.Plan
}

func (c *counters) count(e event) {
	if e.action == rewrite.Pass {
		c.passed.Add(1)
		return
	}
	t := c.of(e.table, e.owner)
	switch e.action {
	case rewrite.Fill:
		t.filled.Add(1)
		if !e.withheld {
			t.keys.Add(uint64(e.keys))
		}
	case rewrite.Keep:
		t.kept.Add(1)
	case rewrite.Refuse:
		t.refuse(e.reason)
	}
	if e.withheld {
		t.withheld.Add(1)
	}
}

// of returns the counts of a table by its name, and by the table itself where it is
// at hand, which then knows them.
func (c *counters) of(name string, owner *table) *tally {
	if owner != nil {
		if t := owner.tally.Load(); t != nil {
			return t
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil {
		c.tables = map[string]*tally{}
	}
	if c.tables[name] == nil && len(c.tables) >= maxTables {
		name = OtherTables
	}
	t := c.tables[name]
	if t == nil {
		t = new(tally)
		c.tables[name] = t
	}
	if owner != nil {
		owner.tally.Store(t)
	}
	return t
}

func (t *tally) refuse(r rewrite.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		t.refused = map[Reason]uint64{}
	}
	t.refused[Reason(r)]++
}

// stats returns the counts so far.
func (t *tally) stats() TableStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TableStats{
		Filled: t.filled.Load(), Keys: t.keys.Load(), Kept: t.kept.Load(), Refused: maps.Clone(t.refused),
		Failed: t.failed.Load(), Unknown: t.unknown.Load(), Withheld: t.withheld.Load(), Suspects: t.suspects.Load(),
	}
}

// failed counts that n statements which were counted before have failed.
func (c *counters) failed(table string, o Outcome, n int) {
	if t := c.of(table, nil); o == NotStored {
		t.failed.Add(uint64(n))
	} else {
		t.unknown.Add(uint64(n))
	}
}

// suspect counts a key that was in use already.
func (c *counters) suspect(table string) { c.of(table, nil).suspects.Add(1) }

// addTo adds the counts to total.
func (c *counters) addTo(total *Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := Stats{Passed: c.passed.Load(), Tables: map[string]TableStats{}}
	for name, t := range c.tables {
		now.Tables[name] = t.stats()
	}
	total.add(now)
}

// add adds other to s and keeps nothing of it.
func (s *Stats) add(other Stats) {
	s.Passed += other.Passed
	for name, from := range other.Tables {
		if s.Tables == nil {
			s.Tables = map[string]TableStats{}
		}
		t := s.Tables[name]
		t.Filled += from.Filled
		t.Keys += from.Keys
		t.Kept += from.Kept
		t.Failed += from.Failed
		t.Unknown += from.Unknown
		t.Withheld += from.Withheld
		t.Suspects += from.Suspects
		t.Refused = maps.Clone(t.Refused)
		for reason, n := range from.Refused {
			if t.Refused == nil {
				t.Refused = map[Reason]uint64{}
			}
			t.Refused[reason] += n
		}
		s.Tables[name] = t
	}
}
