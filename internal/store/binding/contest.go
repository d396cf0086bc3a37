package binding

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// If several states are opened for one column at the same time, one of them gets the
// column. A row that binds a state (stored counter) to a column is first made as a
// candidate: its next_value is 0. A candidate becomes a bound row, with next_value 1,
// if no other row names the column. If a bound row names the column, the candidate
// loses; of two candidates, the one with the lesser name wins. A candidate that has
// lost no longer names a column. It may become a candidate for the column again later.
//
// An UPDATE changes a candidate only if the candidate still has the incarnation (the random
// text of a row) that was read before the other rows were looked for, and a candidate that
// loses gets a new incarnation. So a candidate that was read before another candidate was
// made is either bound by then, or can no longer be bound.
//
// A state's own row, which may name the column too, is bound from the beginning. If two
// states that are made at the same time find each other's own rows, both rows are deleted.

// contestTries is how often a state (stored counter) tries to get its column while
// other states are opened for the same column.
const contestTries = 10

// isCandidate reports whether row was written to bind a stored counter to a column, and is
// not bound yet: another counter's row may name the same column.
func isCandidate(row *staterow.Row) bool {
	return row.Next == 0 && strings.HasPrefix(row.Parameters, Parameters)
}

// namesColumn reports whether row names a column. A candidate (a row that does not hold its
// column yet) that has lost the column names none.
func namesColumn(row *staterow.Row) bool { return row.Column != "" }

// contend turns the row of b for column c, a candidate (a row that does not hold its
// column yet), into a bound row. It returns [store.ErrTaken], or another error of
// [Binder.CheckTaken], if another stored counter has the column. createErr is the error
// of the statement that made the row. The row may exist in spite of it: if two
// processes insert the row at once, Oracle reports a duplicate key to one of them.
func (d Binder) contend(ctx context.Context, b *Binding, c store.Column, createErr error) error {
	name := b.RowFor(c)
	for range contestTries {
		own, err := staterow.Read(ctx, d.Store, name)
		switch {
		case err != nil:
			return err
		case own == nil:
			return d.Store.Failed(name, orRemoved(createErr))
		case !isCandidate(own):
			return nil
		}
		other, taken := d.taker(ctx, b, c)
		switch {
		case other == "" && taken != nil:
			return taken
		case other == "" && namesColumn(own):
			err = d.settle(ctx, b, name, own)
		case other == "":
			err = d.change(ctx, b, name, own, c)
		default:
			err = d.contendWith(ctx, b, own, name, other, taken)
		}
		if err != nil {
			return err
		}
	}
	return d.busy(name)
}

// contendWith makes one of two candidates for a column (rows that do not hold it yet) lose
// it: the other one if its name is greater than the name of own, otherwise own. It returns
// taken if own had lost the column before.
func (d Binder) contendWith(ctx context.Context, b *Binding, own *staterow.Row, name, other string, taken error) error {
	row, err := staterow.Read(ctx, d.Store, other)
	switch {
	case err != nil || row == nil:
		return err
	case !namesColumn(own):
		return taken
	case isCandidate(row) && other > name:
		return d.change(ctx, b, other, row, store.Column{})
	}
	return d.change(ctx, b, name, own, store.Column{})
}

// Keep checks a column as [Binder.CheckTaken] does, for a state (stored counter) whose own
// row names the column: candidates of other states (rows that do not hold the column yet)
// lose the column to it. made is the state's row if the caller has just made it, else nil:
// Keep deletes that row if another state has the column.
func (d Binder) Keep(ctx context.Context, b *Binding, c store.Column, made *staterow.Row) error {
	for range contestTries {
		other, taken := d.taker(ctx, b, c)
		if other == "" {
			return taken
		}
		row, err := staterow.Read(ctx, d.Store, other)
		switch {
		case err != nil:
			return err
		case row == nil:
		case isCandidate(row):
			if err := d.change(ctx, b, other, row, store.Column{}); err != nil {
				return err
			}
		default:
			d.remove(ctx, b, made)
			return taken
		}
	}
	return d.busy(b.Row)
}

// busy returns the error for a row that other processes have changed at each try.
func (d Binder) busy(name string) error {
	return d.Store.Failed(name, anchor.New("contention", "another process creates a state for the column at the same time: send the INSERT again"))
}

// settle turns a candidate (a row that does not hold its column yet) into a bound row, if
// the candidate is still as it was read (before). It writes only next_value, which every
// user of the table may change.
func (d Binder) settle(ctx context.Context, b *Binding, name string, before *staterow.Row) error {
	return d.changeIf(ctx, b, before, d.Store.Engine.SettleCandidate(), engine.Values{Name: name})
}

// change writes column to into a candidate (a row that does not hold its column yet),
// if the candidate is still as it was read (before). An empty column makes the
// candidate lose the column that it names.
func (d Binder) change(ctx context.Context, b *Binding, name string, before *staterow.Row, to store.Column) error {
	return d.changeIf(ctx, b, before, d.Store.Engine.ChangeCandidate(), engine.Values{Name: name, Table: to.TableName(), Column: to.Name})
}

// changeIf runs a statement that changes a candidate (a row that does not hold its
// column yet) only if it still has the incarnation (a random text) of before.
func (d Binder) changeIf(ctx context.Context, b *Binding, before *staterow.Row, st engine.Statement, v engine.Values) error {
	v.Incarnation = before.Incarnation
	if _, err := d.Store.Conn.Exec(ctx, st.Text, st.Bind(v)); err != nil {
		return d.Store.Failed(b.State, err)
	}
	return nil
}

// remove deletes a state's row that the caller has just made, unless it was used since.
// A user without the right to DELETE leaves the row. In a transaction remove does
// nothing, since no other process opens a state (stored counter) then.
func (d Binder) remove(ctx context.Context, b *Binding, made *staterow.Row) {
	if made == nil || d.Store.Inside || b.StartAt > 0 {
		return
	}
	st := d.Store.Engine.RemoveRow()
	_, _ = d.Store.Conn.Exec(ctx, st.Text, st.Bind(engine.Values{Name: b.Row, Incarnation: made.Incarnation, Next: made.Next}))
}
