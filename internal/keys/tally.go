package keys

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/rewrite"
)

// Tally counts the outcomes of INSERTs in one database. It is safe for concurrent use.
type Tally struct {
	Passed atomic.Uint64
	mu     sync.Mutex
	tables map[string]*TableTally // "" for those behind the first maxTables
}

// TableTally counts the outcomes of INSERTs into one table.
type TableTally struct {
	entry string // of the policy; "" for the tables behind the first maxTables

	Filled, Keys, Kept        atomic.Uint64
	Failed, Unknown, Withheld atomic.Uint64
	suspects                  atomic.Uint64

	mu      sync.Mutex
	refused map[rewrite.Reason]uint64
}

// tableCounts are the counts of one table at one time.
type tableCounts struct {
	Entry                                                   string
	Filled, Keys, Kept, Failed, Unknown, Withheld, Suspects uint64
	Refused                                                 map[rewrite.Reason]uint64
}

// Of returns the counts of a table, which remembers them, so that no lock is taken. They
// stand under the name that the policy matched.
func (c *Tally) Of(table *Table) *TableTally {
	if t := table.tally.Load(); t != nil {
		return t
	}
	name, entry := table.Table, table.Rule.Entry
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil {
		c.tables = map[string]*TableTally{}
	}
	if c.tables[name] == nil && len(c.tables) >= maxTables {
		name, entry = "", ""
	}
	t := c.tables[name]
	if t == nil {
		t = &TableTally{entry: entry}
		c.tables[name] = t
	}
	table.tally.Store(t)
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

// Counts returns how many INSERTs were passed, and the counts of each table.
func (c *Tally) Counts() (passed uint64, tables map[string]tableCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tables = make(map[string]tableCounts, len(c.tables))
	for name, t := range c.tables {
		tables[name] = t.counts()
	}
	return c.Passed.Load(), tables
}

func (t *TableTally) counts() tableCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tableCounts{
		Entry:  t.entry,
		Filled: t.Filled.Load(), Keys: t.Keys.Load(), Kept: t.Kept.Load(), Refused: maps.Clone(t.refused),
		Failed: t.Failed.Load(), Unknown: t.Unknown.Load(), Withheld: t.Withheld.Load(), Suspects: t.suspects.Load(),
	}
}
