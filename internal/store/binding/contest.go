package binding

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// Of states that are opened for one column at the same time, one gets the column. A row that
// binds a state to a column is made as a candidate, with a next value of 0. A candidate
// becomes a bound row, with 1, when no other row names the column. Where another row does,
// the bound row has won, and of two candidates the one with the lesser name. A candidate that
// has lost names no column any more. It may be taken for a candidate again later.
//
// Each of these changes compares the incarnation that was read before the others were
// looked for, and a candidate that has lost gets a new one. So a candidate that was
// looked at before another one was made is either bound by then, or cannot be bound any
// more.
//
// A state's own row, which names the column too, is bound from the beginning. Two of them, of
// different states, are deleted both if they find each other.

// contestTries is how often a state looks again for others that are opened for its column.
const contestTries = 10

// isCandidate reports whether a row is to bind a state, and has no column yet.
func isCandidate(row *staterow.Row) bool {
	return row.Next == 0 && strings.HasPrefix(row.Parameters, Parameters)
}

// namesColumn reports whether a row names a column.
func namesColumn(row *staterow.Row) bool { return row.Column != "" }

// contend binds a state to a column by its row, which is a candidate. It returns
// [store.ErrTaken], or what [Binder.CheckTaken] returns else, where another state has the
// column. createErr is the error of the statement that made the row: if two processes
// make it at once, Oracle gives one of them the error of the unique key, and the row is
// there all the same.
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

// contendWith removes another candidate with a greater name, or the own one, and returns
// taken where the own one was removed already.
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

// Keep is [Binder.CheckTaken] for a row of a state that names the column itself:
// candidates lose it. A row that was made by the caller is removed again where another
// state has the column.
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

// busy returns the error of a row that others have changed each time.
func (d Binder) busy(name string) error {
	return d.Store.Failed(name, anchor.New("contention", "another state is opened for the column at the same time: insert again"))
}

// settle makes a candidate, if it is as it was read, a row that is bound. It writes no more
// than the next value, which every user of the table may.
func (d Binder) settle(ctx context.Context, b *Binding, name string, before *staterow.Row) error {
	return d.changeIf(ctx, b, before, d.Store.Engine.SettleCandidate(), engine.Values{Name: name})
}

// change gives a candidate, if it is as it was read, a column; none for Column{}.
func (d Binder) change(ctx context.Context, b *Binding, name string, before *staterow.Row, to store.Column) error {
	return d.changeIf(ctx, b, before, d.Store.Engine.ChangeCandidate(), engine.Values{Name: name, Table: to.TableName(), Column: to.Name})
}

// changeIf runs a statement about a candidate, if it is as it was read.
func (d Binder) changeIf(ctx context.Context, b *Binding, before *staterow.Row, st engine.Statement, v engine.Values) error {
	v.Incarnation = before.Incarnation
	if _, err := d.Store.Conn.Exec(ctx, st.Text, st.Bind(v)); err != nil {
		return d.Store.Failed(b.State, err)
	}
	return nil
}

// remove deletes the row of a state that nothing has used since it was made. A user that
// may not delete leaves it. In a transaction no other process is opening a state.
func (d Binder) remove(ctx context.Context, b *Binding, made *staterow.Row) {
	if made == nil || d.Store.Inside || b.StartAt > 0 {
		return
	}
	st := d.Store.Engine.RemoveRow()
	_, _ = d.Store.Conn.Exec(ctx, st.Text, st.Bind(engine.Values{Name: b.Row, Incarnation: made.Incarnation, Next: made.Next}))
}
