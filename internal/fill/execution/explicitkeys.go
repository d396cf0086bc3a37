package execution

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// Brought holds the keys that an execution brings for a column that is followed.
type Brought struct {
	Table    *table.Table
	Key      int
	Numbers  numbering.Follower
	Explicit plans.Explicit
	Told     bool  // the policy says follow_explicit
	Raised   int64 // the key above which a bulk load, or later rows, have raised it already
}

// Raise makes later keys greater than one that was brought.
func (b *Brought) Raise(ctx context.Context, c *Conn, key int64) error {
	if !b.Table.KeyColumns[b.Key].Gives(key) {
		return nil
	}
	return b.Numbers.Advance(ctx, &c.Session, key+1)
}

// A sequence that follows explicit keys is raised above those that an INSERT brings,
// as AUTO_INCREMENT is: when the INSERT has succeeded, once for a statement, and before
// the caller sees the answer. An INSERT that fails moves nothing, whatever its key, but
// where rows after that key go on above it: see mixed.
//
// Between the INSERT and the raise others may draw the key that was brought, as they
// may when they hold it in a block: theirs is a duplicate-key error. A process that
// compares the numbering with the table in between finds it too low, and so does one
// that starts after this one was killed there: such a source has on_behind: advance
// unless its policy says otherwise.
//
// A numbering that belongs to the transactions of its INSERTs is raised before the
// INSERT, in one transaction with it. Every draw locks the row of the numbering first and
// then the row of the table; an INSERT that locked them in the other order could deadlock
// with a draw. Where the INSERT fails, the raise goes back with it, to a savepoint or
// with a transaction of ours.

// Following holds the numberings that an execution raises above the keys that it brings.
type Following struct {
	Conn   *Conn
	After  []Brought // raised after the statement, and after its transaction if it is ours
	Before []Brought // raised in its transaction, before it
	Stored []Brought // raised there after the INSERT, above the keys it stored
	Apart  bool      // no numbering is raised before: see isBefore
}

// Any reports whether something is raised after the statement.
func (f *Following) Any() bool { return len(f.After) > 0 }

// IsBefore reports whether the numberings that belong to transactions are raised in the
// transaction of the INSERT; else they are raised after it, in a transaction of their
// own.
func (f *Following) IsBefore(p *plans.Plan) bool {
	return !f.Apart && slices.ContainsFunc(f.After, func(b Brought) bool { return b.Numbers.IsJoined() }) &&
		f.Conn.Tx != session.Unknown && p.Statements == 1
}

// IsUntold reports whether no numbering is followed because the policy says follow_explicit.
// An INSERT that brings its keys does not fail then because none can be raised.
func (f *Following) IsUntold() bool {
	return !slices.ContainsFunc(slices.Concat(f.Before, f.After), func(b Brought) bool { return b.Told })
}

// LeaveJoined forgets the numberings that belong to transactions.
func (f *Following) LeaveJoined() {
	f.Before, f.Stored = nil, nil
	f.After = slices.DeleteFunc(f.After, func(b Brought) bool { return b.Numbers.IsJoined() })
}

// Of returns the keys that are brought for a column whose numbering is raised separately,
// nil if there are none.
func (f *Following) Of(t *table.Table, key int) *Brought {
	for i := range f.After {
		if b := &f.After[i]; b.Table == t && b.Key == key && !b.Numbers.IsJoined() {
			return b
		}
	}
	return nil
}

// Add adds the keys that a row of a bulk load brings.
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

// RaiseSoFar raises the numberings above the keys that the rows of a bulk load have
// brought, for a row that gets a key: the key would equal one of theirs, and fail the
// whole load. A key that the engine alone can read is guessed here, since the connection
// takes no question while the load lasts.
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

// RaiseBefore raises the numberings of the execution's transaction before its INSERT.
// One that is raised after the INSERT is locked here where the engine does that, since
// every draw locks it first.
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

// isStored reports whether a numbering is raised after the INSERT.
func (f *Following) isStored(b *Brought) bool {
	return slices.ContainsFunc(f.Stored, func(o Brought) bool { return o.Numbers == b.Numbers && o.Table == b.Table && o.Key == b.Key })
}
