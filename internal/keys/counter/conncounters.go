package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// ConnCounters holds the counters that belong to one connection, and what the
// connection's transactions have done to other counters. Its zero value is empty.
type ConnCounters struct {
	memory *Counters // the counters of a database in memory; nil before the first
	forgot uint64    // the count of calls of ForgetStates when memory was last used

	Claims  *Counters // holds the claims of columns whose tables only this connection sees; nil before the first
	Claimed bool      // a transaction of the connection has written a claim since the connection was taken from its pool

	// altered holds the counters that were opened by reading tables which the open
	// transaction has changed; nil before the first.
	altered *Counters
	Renamed bool // a RENAME may have given a table's name to another table since altered was filled

	Doubts map[*Counter]Doubted // the columns in which the transaction found a key in use, by counter
}

// InMemory returns the counters of a database in memory. It creates the set on first
// use.
func (o *ConnCounters) InMemory() *Counters {
	if o.memory == nil {
		o.memory = NewCounters()
	}
	return o.memory
}

// InMemoryNow returns the counters of a database in memory for a draw. They first
// discard what they know of their rows in the store if [keys.ForgetStates] has raised
// forgets since the last draw.
func (o *ConnCounters) InMemoryNow(ctx context.Context, forgets uint64) *Counters {
	counters := o.InMemory()
	if forgets != o.forgot {
		o.forgot = forgets
		_ = counters.ForgetStates(ctx) // the sources of a database in memory have nothing to give back
	}
	return counters
}

// Here returns the set for a key's counter in a transaction that has changed tables:
// the transaction's own set if the counter is opened by reading the table, else all.
func (o *ConnCounters) Here(k *table.Column, all *Counters) *Counters {
	src := k.Rule.Source
	if !table.CountsInRows(src) || src.Kind == policy.KindRecycled {
		return all
	}
	if o.altered == nil {
		o.altered = NewCounters()
	}
	return o.altered
}

// Suspect gives up the numbers that are reserved for this connection alone, after a
// RENAME.
func (o *ConnCounters) Suspect() {
	if o.memory != nil {
		o.memory.Suspect()
	}
	o.Renamed = o.altered != nil
}

// EndTransaction closes the counters of a transaction that has changed tables, when it
// ends.
func (o *ConnCounters) EndTransaction() {
	if o.altered != nil {
		// An error does not matter: numbers that cannot be given back become gaps.
		_ = o.altered.Close(context.Background())
	}
	o.altered, o.Renamed = nil, false
}

// EndCheckout discards what belongs to the last checkout of the connection from its
// pool.
func (o *ConnCounters) EndCheckout() { o.Claimed, o.Doubts = false, nil }

// Close closes the counters of a database in memory.
func (o *ConnCounters) Close() {
	if o.memory != nil {
		_ = o.memory.Close(context.Background()) // the sources of a database in memory have no goroutine running
	}
}
