package numbering

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/keysource"
)

// Floor makes a snowflake without a stored mark (until when its worker has reserved the
// time) begin above the keys that its worker has stored: the clock may have been set back
// while no process ran.
type Floor struct {
	Flake  *counting.Snowflake
	Column store.Column
	Tables *relation.Tables
	Table  *table.Table
	Index  int // the index of the key column
	done   atomic.Bool

	// Composite is the form of the keys if they are text that contains the worker's
	// number; nil if they are integers.
	Composite *keysource.Composite
	Number    int
}

// Read returns the number of the greatest key in the column; for a Composite, the
// number of the greatest key of this worker.
func (f *Floor) Read(ctx context.Context, st *store.Store) (int64, error) {
	if f.Composite == nil {
		return keycolumn.Of(st, f.Column).MaxKey(ctx)
	}
	from, to := f.Composite.Range(f.Number)
	key, err := keycolumn.Of(st, f.Column).MaxDigits(ctx, from, to)
	if err != nil || key == "" {
		return 0, err
	}
	return f.Composite.Number(strings.TrimRight(key, " "))
}

// greatest returns the greatest key in the column. It waits at most for the policy's
// store_wait: the statement's own transaction may have locked the table, and the server
// does not see that as a deadlock.
func (f *Floor) greatest(ctx context.Context, st *store.Store) (int64, error) {
	if f.Tables.StatesOnConnection() {
		return f.Read(ctx, st)
	}
	limited, cancel := context.WithTimeout(ctx, f.Tables.StoreWait)
	defer cancel()
	key, err := f.Read(limited, st)
	switch {
	case err == nil:
		return key, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case limited.Err() != nil:
		return 0, fmt.Errorf("%w: the greatest key could not be read for %s (store_wait): look whether a transaction has locked the table", keysource.ErrStoreDown, f.Tables.StoreWait)
	}
	return 0, err
}

// raise makes the first keys begin above the greatest key in the column. It does that
// once.
func (f *Floor) raise(ctx context.Context, g *relation.Session) error {
	if f == nil || f.done.Load() {
		return nil
	}
	db := f.Tables
	var (
		st  *store.Store
		err error
	)
	if g.IsAltered() {
		st = store.Within(db.Dialect(), g.Own())
	} else if db.StatesOnConnection() {
		if err := db.LockBeforeRead(ctx, g, f.Table, f.Index); err != nil {
			return err
		}
		st = store.On(db.Candidates[0].Dialect, g.Own())
	} else if st, err = db.Stores.Get(""); err != nil {
		return err
	}
	key, err := int64(0), error(nil)
	if g.IsAltered() {
		key, err = f.Read(ctx, st)
	} else {
		err = relation.Apart(ctx, g, []store.Column{f.Column}, func(ctx context.Context) (err error) {
			key, err = f.greatest(ctx, st)
			return err
		})
	}
	if err != nil {
		return err
	}
	switch err := f.Flake.Above(key); {
	case err != nil && f.Composite == nil:
		return fmt.Errorf("%w: say on_behind: warn if they are other programs'", err)
	case err != nil:
		return err
	}
	f.done.Store(!g.IsAltered()) // if the transaction has altered tables, other connections may see other keys, and a rollback may restore keys
	return nil
}
