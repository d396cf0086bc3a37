package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// ConnCounters holds the counters that belong to one connection, and what its transactions
// have done to the other counters. Its zero value is empty.
type ConnCounters struct {
	memory *Counters // of a database in memory; nil before the first
	forgot uint64    // the count of forgets when memory was last used

	Claims  *Counters // holds the claims of columns whose tables the connection alone sees; nil before the first
	Claimed bool      // a claim was noted in one of its transactions since the checkout

	// altered holds the counters whose states were opened by looking at tables that the open
	// transaction has changed; nil before the first.
	altered *Counters
	Renamed bool // after a RENAME: another table may have the name of one that altered numbers

	Doubts map[*Counter]Doubted // by counter: the columns in which its transaction found a key in use
}

// InMemory returns the counters of a database in memory.
func (o *ConnCounters) InMemory() *Counters {
	if o.memory == nil {
		o.memory = NewCounters()
	}
	return o.memory
}

// InMemoryNow returns the counters of a database in memory for a draw. They forget their
// states first if [keys.ForgetStates] has raised forgets since the last draw.
func (o *ConnCounters) InMemoryNow(ctx context.Context, forgets uint64) *Counters {
	counters := o.InMemory()
	if forgets != o.forgot {
		o.forgot = forgets
		_ = counters.ForgetStates(ctx) // their sources have nothing to give back
	}
	return counters
}

// Here returns the set for a key's counter in a transaction that has changed tables: the
// transaction's own set if the state is opened by looking at the table, else all.
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

// Suspect gives up the numbers that are reserved for the connection alone, after a RENAME.
func (o *ConnCounters) Suspect() {
	if o.memory != nil {
		o.memory.Suspect()
	}
	o.Renamed = o.altered != nil
}

// EndTransaction closes the counters of the transaction that has changed tables.
func (o *ConnCounters) EndTransaction() {
	if o.altered != nil {
		// Reserved numbers become gaps.
		_ = o.altered.Close(context.Background())
	}
	o.altered, o.Renamed = nil, false
}

// EndCheckout forgets what belongs to the last checkout of the connection.
func (o *ConnCounters) EndCheckout() { o.Claimed, o.Doubts = false, nil }

// Close closes the counters of a database in memory.
func (o *ConnCounters) Close() {
	if o.memory != nil {
		_ = o.memory.Close(context.Background()) // their sources have nothing running
	}
}
