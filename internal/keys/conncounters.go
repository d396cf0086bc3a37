package keys

import (
	"context"

	"github.com/keyfill/keyfill/policy"
)

// connCounters are the counters that one connection alone has, and what its transactions have
// done to the others. Its zero value has none.
type connCounters struct {
	memory *Counters // of a database in memory; nil before the first
	forgot uint64    // forgets of the tables when memory was last used

	claims  *Counters // holds the claims of columns whose tables the connection alone sees; nil before the first
	claimed bool      // a claim was noted in one of its transactions since the checkout

	// altered holds the counters whose states were opened by looking at tables that the open
	// transaction has changed; nil before the first.
	altered *Counters
	renamed bool // a table may have got the name of a table that altered numbers

	doubts map[*counter]doubted // by counters whose keys its transaction found in use
}

// inMemory returns the counters of a database in memory.
func (o *connCounters) inMemory() *Counters {
	if o.memory == nil {
		o.memory = newCounters()
	}
	return o.memory
}

// inMemoryNow is inMemory for a draw. forgets is the count of the tables: the counters forget
// their states when [ForgetStates] has raised it.
func (o *connCounters) inMemoryNow(ctx context.Context, forgets uint64) *Counters {
	counters := o.inMemory()
	if forgets != o.forgot {
		o.forgot = forgets
		_ = counters.forgetStates(ctx) // their sources have nothing to give back
	}
	return counters
}

// here returns the set that keeps the counter of a key in a transaction which has changed
// tables: a set of its own if the state is opened by looking at the table, else all.
func (o *connCounters) here(k *Column, all *Counters) *Counters {
	src := k.Rule.Source
	if !countsInRows(src) || src.Kind == policy.KindRecycled {
		return all
	}
	if o.altered == nil {
		o.altered = newCounters()
	}
	return o.altered
}

// suspect gives up the numbers that are reserved for the connection alone, after a RENAME.
func (o *connCounters) suspect() {
	if o.memory != nil {
		o.memory.suspect()
	}
	o.renamed = o.altered != nil
}

// endTransaction closes the counters of the transaction that has changed tables.
func (o *connCounters) endTransaction() {
	if o.altered != nil {
		// Reserved numbers become gaps.
		_ = o.altered.close(context.Background())
	}
	o.altered, o.renamed = nil, false
}

// endCheckout forgets what belongs to the last user of the connection.
func (o *connCounters) endCheckout() { o.claimed, o.doubts = false, nil }

// close closes the counters of a database in memory.
func (o *connCounters) close() {
	if o.memory != nil {
		_ = o.memory.close(context.Background()) // their sources have nothing running
	}
}
