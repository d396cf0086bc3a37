package store

import "context"

// openForeign is open for a state that is in no table of this package. Where it
// is only a procedure's to know, there is nothing to read.
func (o opener) openForeign(ctx context.Context) (got opening, err error) {
	q := o.q
	if o.store.inside && q.Table != nil {
		// Before anything is read.
		if err := lockOf(o.store, q.Table.Name, q.Table.Value).first(ctx); err != nil {
			return got, err
		}
	}
	if err := o.checkForeign(ctx); err != nil {
		return got, err
	}
	if q.Table == nil {
		return got, nil
	}
	row, err := rowOf(ctx, o.store, q)
	if err != nil {
		return got, err
	}
	got.form = row.form
	// The keys come first, as in open.
	if got.greatest, _, err = columnsOf(o.store, q).greatest(ctx); err != nil {
		return got, err
	}
	stored, err := row.read(ctx)
	switch {
	case err != nil:
		return got, err
	case stored == nil:
		return got, row.noRow(ctx, got.greatest)
	}
	got.row.Next, got.known = stored.next, true
	return got, nil
}

// checkForeign returns [ErrTaken] when keyfill_sequences, where it can be read,
// has a state for the column. It does not look where an error would end the
// application's transaction.
func (o opener) checkForeign(ctx context.Context) error {
	if o.store.inside && !o.store.engine.sturdy {
		return nil
	}
	switch there, err := o.store.canRead(ctx, sequencesTable); {
	case err != nil:
		return o.store.failed(o.q.Name, err)
	case !there:
		return nil
	}
	b := o.q.binding()
	// A row of its name is another state's too.
	b.row, b.state = "", o.q.ForeignState()
	return binder{o.store}.checkAll(ctx, b)
}
