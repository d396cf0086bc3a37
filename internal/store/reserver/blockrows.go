package reserver

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
)

// spareParameters is the text in the column parameters of the second row of a stored
// counter, which holds the next block of integers.
const spareParameters = "spare"

// spareRow returns the name of the second row of a stored counter, which has at most
// 190 characters.
func spareRow(state string) string { return store.ShortName(state + " (spare)") }

// blockRows implements [upstream.Rows] for a [Reserver]: the first row has the block (a
// reserved range of integers) in use, the second row the next block.
type blockRows struct{ *Reserver }

func (r blockRows) NeedsAll() bool { return r.allOrNone }

func (r blockRows) IsOurs() bool { return r.store.Pooled }

func (r blockRows) MayWait() bool { return !r.noWait }

func (r blockRows) BlockEnd() int64 { return r.sequence.End() }

func (r blockRows) Raise(ctx context.Context, to int64) error { return r.row().Advance(ctx, to) }

func (r blockRows) ReadLevel(ctx context.Context) (l upstream.Level, err error) {
	if err := r.Open(ctx); err != nil {
		return l, err
	}
	// Read the second row (the row with the next block) first: when the first row is read
	// later, the block of the second row is still the same, or was put into use meanwhile.
	spare, err := staterow.Read(ctx, r.store, spareRow(r.sequence.Name))
	if err != nil {
		return l, err
	}
	row, err := staterow.Read(ctx, r.store, r.sequence.Name)
	switch {
	case err != nil:
		return l, err
	case row == nil:
		r.opened.Store(false)
		return l, r.store.Failed(r.sequence.Name, staterow.ErrRemoved)
	}
	r.sequence.Remember(row)
	l.Next, l.Block = row.Next, row.Incarnation
	if spare == nil {
		return l, nil
	}
	if spare.Parameters != spareParameters {
		return l, r.sequence.Fail(store.ErrBound, "the row %q, which is to hold its next block: give the state another name", spareRow(r.sequence.Name))
	}
	l.SpareFirst, l.Spare = spare.Next, spare.Incarnation
	return l, nil
}

func (r blockRows) Install(ctx context.Context, was upstream.Level, b upstream.Block) (bool, error) {
	name := spareRow(r.sequence.Name)
	if was.Spare == "" {
		// If two processes insert the row at once, one of them may get an error. Both read
		// the row then.
		err := staterow.Make(ctx, r.store, name, 1, "", "", spareParameters)
		if err == nil || r.store.Inside {
			return false, err
		}
		if row, readErr := staterow.Read(ctx, r.store, name); readErr != nil || row == nil {
			return false, r.store.Failed(name, err)
		}
		return false, nil
	}
	set := r.store.Engine.ComposeInstall()
	return r.swapped(ctx, set, engine.Values{
		Next: b.First, Version: staterow.WithEnd(was.Block, b.End), Name: name, Incarnation: was.Spare,
	})
}

func (r blockRows) Turn(ctx context.Context, was upstream.Level) (bool, error) {
	set := r.store.Engine.ComposeTurn()
	return r.swapped(ctx, set, engine.Values{
		Next: was.SpareFirst, Version: staterow.WithEnd(was.Block, was.SpareEnd()), Name: r.sequence.Name, Incarnation: was.Block,
	})
}

// swapped executes an UPDATE of one row, and reports whether the row was still as it
// was read, so that it was changed.
func (r blockRows) swapped(ctx context.Context, set engine.Statement, v engine.Values) (bool, error) {
	changed, err := r.store.Conn.Exec(ctx, set.Text, set.Bind(v))
	switch {
	case err != nil:
		return false, r.store.FailedAs(r.sequence.Meaning(), r.sequence.Name, err)
	case changed > 1:
		return false, store.ErrRows
	}
	return changed == 1, nil
}
