package reserver

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// openForeign opens a stored counter that is in none of keyfill's tables: in a key
// table, or known only to a procedure of the application. Only a key table can be read.
func (o opener) openForeign(ctx context.Context) (got opening, err error) {
	q := o.q
	if o.store.Inside && q.Table != nil {
		// Take the lock to write before anything is read: a transaction of SQLite that has
		// read does not wait for another writer.
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
	// Read the greatest key before the row: the keys that are in the column now were
	// reserved before, so a row that is read later is above them.
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

// checkForeign returns [store.ErrTaken] if another stored counter in keyfill_sequences
// serves the column. It does nothing if the table cannot be read, or if an error would
// abort the application's transaction.
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
	// This sequence has no row in keyfill_sequences, so even a row with its name belongs to
	// another stored counter.
	b.Row, b.State = "", o.q.ForeignState()
	return binding.Binder{Store: o.store}.CheckAll(ctx, b)
}
