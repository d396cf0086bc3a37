package execution

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// Brought holds the explicit keys (the keys that the caller's INSERT itself contains)
// of an execution for a column, and the counter that is raised above them.
type Brought struct {
	Table    *table.Table
	Key      int
	Numbers  numbering.Follower
	Explicit plans.Explicit
	Told     bool  // the policy sets follow_explicit
	Raised   int64 // the key above which the counter was raised already, by a bulk load or for later rows
}

// KeysEnd returns the number from which on keys of the column belong to another stored
// counter, as the counter's row says now; 0 if no keys belong to another one.
func (b *Brought) KeysEnd(ctx context.Context, c *Conn) (int64, error) {
	return numbering.KeysEnd(ctx, b.Numbers, &c.Session)
}

// Raise makes later keys greater than key, an explicit key of an INSERT.
func (b *Brought) Raise(ctx context.Context, c *Conn, key int64) error {
	if !b.Table.KeyColumns[b.Key].Gives(key) {
		return nil
	}
	return b.Numbers.Advance(ctx, &c.Session, key+1)
}

// RaiseStored does what Raise does after the INSERT, for a counter that RaiseBefore has
// locked.
func (b *Brought) RaiseStored(ctx context.Context, c *Conn, key int64) error {
	row, ok := b.Numbers.(*numbering.JoinedRow)
	if !ok || !b.Table.KeyColumns[b.Key].Gives(key) {
		return b.Raise(ctx, c, key)
	}
	return row.AdvanceLocked(ctx, &c.Session, key+1)
}

// A counter that follows explicit keys is raised above the keys that an INSERT itself
// contains, as AUTO_INCREMENT is: after the INSERT has succeeded, once for a statement,
// and before the caller gets the answer. An INSERT that fails raises nothing, whatever its
// key is, except if later rows of it are numbered above that key: see mixed.
//
// Between the INSERT and the raise another process may draw a number that equals the
// explicit key, or may hold that number in a block already: it gets a duplicate-key error
// then. A process that compares the counter with the table in that time finds the counter
// too low, and so does a process that starts after this one was killed before the raise: a
// source that follows explicit keys has on_behind: advance, unless its policy says
// otherwise.
//
// A counter whose numbers belong to the transactions of its INSERTs is raised before the
// INSERT, in the same transaction. Every draw locks first the row of the counter and then
// the row of the table; an INSERT that locked them in the other order could deadlock with
// a draw. If the INSERT fails, the raise is rolled back too, to a savepoint or with a
// transaction that keyfill has begun.

// Following holds the explicit keys of an execution, with the counters that are raised
// above them.
type Following struct {
	Conn   *Conn
	After  []Brought // counters to raise after the statement, and after its transaction if keyfill has begun the transaction
	Before []Brought // counters to raise before the statement, in its transaction
	Stored []Brought // counters to raise in the transaction after the INSERT, above the keys that the INSERT has stored
	Apart  bool      // counters are raised after the statement, in a separate transaction, and none before: see IsBefore
}

// Any reports whether a counter is raised after the statement.
func (f *Following) Any() bool { return len(f.After) > 0 }

// IsBefore reports whether counters whose numbers belong to transactions are raised in
// the transaction of the INSERT. If not, they are raised after it, in a separate
// transaction.
func (f *Following) IsBefore(p *plans.Plan) bool {
	return !f.Apart && slices.ContainsFunc(f.After, func(b Brought) bool { return b.Numbers.IsJoined() }) &&
		f.Conn.Tx != session.Unknown && p.Statements == 1
}

// IsUntold reports whether the policy sets follow_explicit for no column that has explicit
// keys in the execution. An INSERT that contains all its keys then does not fail if a
// counter cannot be raised.
func (f *Following) IsUntold() bool {
	return !slices.ContainsFunc(slices.Concat(f.Before, f.After), func(b Brought) bool { return b.Told })
}

// LeaveJoined removes the counters whose numbers belong to transactions.
func (f *Following) LeaveJoined() {
	f.Before, f.Stored = nil, nil
	f.After = slices.DeleteFunc(f.After, func(b Brought) bool { return b.Numbers.IsJoined() })
}

// Of returns the explicit keys for a column whose counter is raised outside of the
// transaction, nil if there are none.
func (f *Following) Of(t *table.Table, key int) *Brought {
	for i := range f.After {
		if b := &f.After[i]; b.Table == t && b.Key == key && !b.Numbers.IsJoined() {
			return b
		}
	}
	return nil
}

// Add adds the explicit keys of one row of a bulk load.
func (f *Following) Add(row Following) {
	f.Conn = row.Conn
	for _, b := range row.After {
		i := slices.IndexFunc(f.After, func(o Brought) bool { return o.Numbers == b.Numbers })
		if i < 0 {
			f.After = append(f.After, b)
			continue
		}
		f.After[i].Explicit.Add(b.Explicit)
	}
}

// RaiseSoFar raises the counters above the explicit keys of the rows of a bulk load
// that were sent so far, before a row gets a key: otherwise that key could equal one of
// them, and the whole load would fail. A key that only the engine could determine is
// guessed, since the connection accepts no query during the load.
func (f *Following) RaiseSoFar(ctx context.Context) error {
	for i := range f.After {
		b := &f.After[i]
		key := max(b.Explicit.Sure, b.Explicit.Guess)
		if key <= b.Raised {
			continue
		}
		if err := b.Raise(ctx, f.Conn, key); err != nil {
			return b.Table.KeyError(b.Key, err)
		}
		b.Raised = key
	}
	return nil
}

// RaiseBefore raises the counters of the execution's transaction before its INSERT. A
// counter that is raised after the INSERT is only locked here, if the engine does that,
// since every draw locks it first.
func (f *Following) RaiseBefore(ctx context.Context) error {
	for i := range f.Before {
		b := &f.Before[i]
		key := max(b.Explicit.Sure, b.Explicit.Guess)
		err := b.Raise(ctx, f.Conn, key)
		if err == nil && f.isStored(b) {
			err = b.Numbers.Advance(ctx, &f.Conn.Session, 1)
		}
		if err != nil {
			return b.Table.KeyError(b.Key, err)
		}
	}
	return nil
}

// isStored reports whether a counter is raised after the INSERT, in its transaction.
func (f *Following) isStored(b *Brought) bool {
	return slices.ContainsFunc(f.Stored, func(o Brought) bool { return o.Numbers == b.Numbers && o.Table == b.Table && o.Key == b.Key })
}
