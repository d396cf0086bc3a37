package reserver

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// openForeign is open for a state that is in no table of this package. Where it
// is only a procedure's to know, there is nothing to read.
func (o opener) openForeign(ctx context.Context) (got opening, err error) {
	q := o.q
	if o.store.Inside && q.Table != nil {
		// Before anything is read.
		if err := store.LockOf(o.store, q.Table.Name, q.Table.Value).TakeFirst(ctx); err != nil {
			return got, err
		}
	}
	if err := o.checkForeign(ctx); err != nil {
		return got, err
	}
	if q.Table == nil {
		return got, nil
	}
	row, err := sequence.RowOf(ctx, o.store, q)
	if err != nil {
		return got, err
	}
	got.form = row.Form
	// The keys come first, as in open.
	if got.greatest, _, err = sequence.ColumnsOf(o.store, q).Greatest(ctx); err != nil {
		return got, err
	}
	stored, err := row.Read(ctx)
	switch {
	case err != nil:
		return got, err
	case stored == nil:
		return got, row.NoRow(ctx, got.greatest)
	}
	got.row.Next, got.known = stored.Next, true
	return got, nil
}

// checkForeign returns [store.ErrTaken] when keyfill_sequences, where it can be read,
// has a state for the column. It does not look where an error would end the
// application's transaction.
func (o opener) checkForeign(ctx context.Context) error {
	if o.store.Inside && !o.store.Engine.ErrorsKeepTransaction {
		return nil
	}
	switch there, err := o.store.CanRead(ctx, engine.SequencesTable); {
	case err != nil:
		return o.store.Failed(o.q.Name, err)
	case !there:
		return nil
	}
	b := o.q.Binding()
	// A row of its name is another state's too.
	b.Row, b.State = "", o.q.ForeignState()
	return binding.Binder{Store: o.store}.CheckAll(ctx, b)
}
