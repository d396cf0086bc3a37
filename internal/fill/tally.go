package fill

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/rewrite"
)

// tally counts what was done with the INSERTs of one database. It is safe for
// concurrent use.
type tally struct {
	passed atomic.Uint64
	mu     sync.Mutex
	tables map[string]*tableTally // "" for those behind the first maxTables
}

// tableTally counts what was done with the INSERTs into one table.
type tableTally struct {
	filled, keys, kept        atomic.Uint64
	failed, unknown, withheld atomic.Uint64
	suspects                  atomic.Uint64

	mu      sync.Mutex
	refused map[rewrite.Reason]uint64
}

// tableCounts are the counts of one table at one time.
type tableCounts struct {
	Filled, Keys, Kept, Failed, Unknown, Withheld, Suspects uint64
	Refused                                                 map[rewrite.Reason]uint64
}

// of returns the counts of a table by the name that the policy matched. The owner,
// where it is at hand, remembers them, so that no lock is taken.
func (c *tally) of(name string, owner *table) *tableTally {
	if owner != nil {
		if t := owner.tally.Load(); t != nil {
			return t
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil {
		c.tables = map[string]*tableTally{}
	}
	if c.tables[name] == nil && len(c.tables) >= maxTables {
		name = ""
	}
	t := c.tables[name]
	if t == nil {
		t = new(tableTally)
		c.tables[name] = t
	}
	if owner != nil {
		owner.tally.Store(t)
	}
	return t
}

// refuse counts a statement that cannot be filled.
func (t *tableTally) refuse(r rewrite.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		t.refused = map[rewrite.Reason]uint64{}
	}
	t.refused[r]++
}

// Counts returns how many INSERTs were passed, and the counts of each table.
func (c *tally) Counts() (passed uint64, tables map[string]tableCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tables = make(map[string]tableCounts, len(c.tables))
	for name, t := range c.tables {
		tables[name] = t.counts()
	}
	return c.passed.Load(), tables
}

func (t *tableTally) counts() tableCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tableCounts{
		Filled: t.filled.Load(), Keys: t.keys.Load(), Kept: t.kept.Load(), Refused: maps.Clone(t.refused),
		Failed: t.failed.Load(), Unknown: t.unknown.Load(), Withheld: t.withheld.Load(), Suspects: t.suspects.Load(),
	}
}
