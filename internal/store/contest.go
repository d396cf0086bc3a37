package store

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Of states that are opened for one column at the same time, one gets the column. A row that
// binds a state to a column is made as a candidate, with a next value of 0. A candidate
// becomes a bound row, with 1, when no other row names the column. Where another row does,
// the bound row has won, and of two candidates the one with the lesser name. A candidate that
// has lost names no column any more. It may be taken for a candidate again later.
//
// Each of these changes compares the incarnation that was read before the others were looked
// for, and a candidate that has lost gets a new one. So a candidate that was looked at before another one was made is
// either bound by then, or cannot be bound any more.
//
// A state's own row, which names the column too, is bound from the beginning. Two of them, of
// different states, are deleted both if they find each other.

// contestTries is how often a state looks again for others that are opened for its column.
const contestTries = 10

// isCandidate reports whether a row is to bind a state, and has no column yet.
func isCandidate(row *storedRow) bool {
	return row.next == 0 && strings.HasPrefix(row.parameters, bindingParameters)
}

// namesColumn reports whether a row names a column.
func namesColumn(row *storedRow) bool { return row.column != "" }

// contend binds a state to a column by its row, which is a candidate. It returns [ErrTaken],
// or what checkTaken returns else, where another state has the column. createErr is the error
// of the statement that made the row: of two who make it at once, Oracle gives one the error
// of the unique key, and the row is there all the same.
func (d binder) contend(ctx context.Context, b *binding, c Column, createErr error) error {
	name := b.rowFor(c)
	for range contestTries {
		own, err := readRow(ctx, d.store, name)
		switch {
		case err != nil:
			return err
		case own == nil:
			return d.store.failed(name, orRemoved(createErr))
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
func (d binder) contendWith(ctx context.Context, b *binding, own *storedRow, name, other string, taken error) error {
	row, err := readRow(ctx, d.store, other)
	switch {
	case err != nil || row == nil:
		return err
	case !namesColumn(own):
		return taken
	case isCandidate(row) && other > name:
		return d.change(ctx, b, other, row, Column{})
	}
	return d.change(ctx, b, name, own, Column{})
}

// keep is checkTaken for a row of a state that names the column itself: candidates lose it.
// A row that was made by the caller is removed again where another state has the column.
func (d binder) keep(ctx context.Context, b *binding, c Column, made *storedRow) error {
	for range contestTries {
		other, taken := d.taker(ctx, b, c)
		if other == "" {
			return taken
		}
		row, err := readRow(ctx, d.store, other)
		switch {
		case err != nil:
			return err
		case row == nil:
		case isCandidate(row):
			if err := d.change(ctx, b, other, row, Column{}); err != nil {
				return err
			}
		default:
			d.remove(ctx, b, made)
			return taken
		}
	}
	return d.busy(b.row)
}

// busy returns the error of a row that others have changed each time.
func (d binder) busy(name string) error {
	return d.store.failed(name, anchor.New("contention", "another state is opened for the column at the same time: insert again"))
}

// settle makes a candidate, if it is as it was read, a row that is bound. It writes no more
// than the next value, which every user of the table may.
func (d binder) settle(ctx context.Context, b *binding, name string, before *storedRow) error {
	return d.changeIf(ctx, b, before, d.store.engine.settleCandidate(), values{Name: name})
}

// change gives a candidate, if it is as it was read, a column; none for Column{}.
func (d binder) change(ctx context.Context, b *binding, name string, before *storedRow, to Column) error {
	return d.changeIf(ctx, b, before, d.store.engine.changeCandidate(), values{Name: name, Table: to.table(), Column: to.Name})
}

// changeIf runs a statement about a candidate, if it is as it was read.
func (d binder) changeIf(ctx context.Context, b *binding, before *storedRow, st statement, v values) error {
	v.Incarnation = before.incarnation
	if _, err := d.store.conn.exec(ctx, st.text, st.bind(v)); err != nil {
		return d.store.failed(b.state, err)
	}
	return nil
}

// remove deletes the row of a state that nothing has used since it was made. Who may not
// delete leaves it. In a transaction no other process is opening a state.
func (d binder) remove(ctx context.Context, b *binding, made *storedRow) {
	if made == nil || d.store.inside || b.startAt > 0 {
		return
	}
	st := d.store.engine.removeRow()
	_, _ = d.store.conn.exec(ctx, st.text, st.bind(values{Name: b.row, Incarnation: made.incarnation, Next: made.next}))
}
