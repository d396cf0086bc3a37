package store

import (
	"context"
)

// spareParameters stands in the column parameters of the second row.
const spareParameters = "spare"

// spareRow returns the name of the second row of a state, of at most 190 characters.
func spareRow(state string) string { return shortName(state + " (spare)") }

// blockRows are the rows of a [Reserver].
type blockRows struct{ *Reserver }

func (r blockRows) needsAll() bool { return r.whole }

func (r blockRows) isOurs() bool { return r.store.pooled }

func (r blockRows) mayWait() bool { return !r.hasty }

func (r blockRows) blockEnd() int64 { return r.sequence.end() }

func (r blockRows) raise(ctx context.Context, to int64) error { return r.row().advance(ctx, to) }

func (r blockRows) readLevel(ctx context.Context) (l level, err error) {
	if err := r.Open(ctx); err != nil {
		return l, err
	}
	// The second row comes first: the block that it has when the first row is read later is
	// the same one, or was put into use meanwhile.
	spare, err := readRow(ctx, r.store, spareRow(r.sequence.Name))
	if err != nil {
		return l, err
	}
	row, err := readRow(ctx, r.store, r.sequence.Name)
	switch {
	case err != nil:
		return l, err
	case row == nil:
		r.opened.Store(false)
		return l, r.store.failed(r.sequence.Name, errRemoved)
	}
	r.sequence.remember(row)
	l.next, l.block = row.next, row.incarnation
	if spare == nil {
		return l, nil
	}
	if spare.parameters != spareParameters {
		return l, r.sequence.fail(ErrBound, "the row %q, which is to hold its next block: give the state another name", spareRow(r.sequence.Name))
	}
	l.spareFirst, l.spare = spare.next, spare.incarnation
	return l, nil
}

func (r blockRows) install(ctx context.Context, was level, b blockOf) (bool, error) {
	name := spareRow(r.sequence.Name)
	if was.spare == "" {
		// Of two that make it at once one may get an error, and both read it then.
		err := makeRow(ctx, r.store, name, 1, "", "", spareParameters)
		if err == nil || r.store.inside {
			return false, err
		}
		if row, readErr := readRow(ctx, r.store, name); readErr != nil || row == nil {
			return false, r.store.failed(name, err)
		}
		return false, nil
	}
	set := r.store.engine.composeInstall()
	return r.swapped(ctx, set, values{
		Next: b.first, Version: withEnd(was.block, b.end), Name: name, Incarnation: was.spare,
	})
}

func (r blockRows) turn(ctx context.Context, was level) (bool, error) {
	set := r.store.engine.composeTurn()
	return r.swapped(ctx, set, values{
		Next: was.spareFirst, Version: withEnd(was.block, was.spareEnd()), Name: r.sequence.Name, Incarnation: was.block,
	})
}

// swapped runs an UPDATE of one row, and reports whether it has found the row as it was.
func (r blockRows) swapped(ctx context.Context, set statement, v values) (bool, error) {
	changed, err := r.store.conn.exec(ctx, set.text, set.bind(v))
	switch {
	case err != nil:
		return false, r.store.failedAs(r.sequence.meaning(), r.sequence.Name, err)
	case changed > 1:
		return false, ErrRows
	}
	return changed == 1, nil
}
