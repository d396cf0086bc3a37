package keys

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/keysource"
)

// floor makes a snowflake without a mark begin above the keys that its worker has stored:
// the clock may have been set back while no process ran.
type floor struct {
	flake  *keysource.Snowflake
	column store.Column
	tables *Tables
	table  *Table
	index  int // of the key
	done   atomic.Bool

	// composite is the keys' form where they are text with the worker's number; nil
	// where they are integers.
	composite *keysource.Composite
	number    int
}

// read returns the number of the greatest key in the column; for a composite, of the
// greatest key with the worker's number.
func (f *floor) read(ctx context.Context, st *store.Store) (int64, error) {
	if f.composite == nil {
		return keycolumn.Of(st, f.column).MaxKey(ctx)
	}
	from, to := f.composite.Range(f.number)
	key, err := keycolumn.Of(st, f.column).MaxDigits(ctx, from, to)
	if err != nil || key == "" {
		return 0, err
	}
	return f.composite.Number(strings.TrimRight(key, " "))
}

// greatest returns the greatest key in the column. It waits for the policy's store_wait
// at most: the statement's own transaction may have locked the table, which the server
// does not see as a deadlock.
func (f *floor) greatest(ctx context.Context, st *store.Store) (int64, error) {
	if f.tables.StatesOnConnection() {
		return f.read(ctx, st)
	}
	limited, cancel := context.WithTimeout(ctx, f.tables.storeWait)
	defer cancel()
	key, err := f.read(limited, st)
	switch {
	case err == nil:
		return key, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case limited.Err() != nil:
		return 0, fmt.Errorf("%w: the greatest key could not be read for %s (store_wait): look whether a transaction has locked the table", keysource.ErrStoreDown, f.tables.storeWait)
	}
	return 0, err
}

// raise makes the first keys begin above the greatest one in the column.
func (f *floor) raise(ctx context.Context, g *Session) error {
	if f == nil || f.done.Load() {
		return nil
	}
	db := f.tables
	var (
		st  *store.Store
		err error
	)
	if g.isAltered() {
		st = store.Within(db.Dialect(), g.Own())
	} else if db.StatesOnConnection() {
		if err := db.LockBeforeRead(ctx, g, f.table, f.index); err != nil {
			return err
		}
		st = store.On(db.Candidates[0].Dialect, g.Own())
	} else if st, err = db.stores.get(""); err != nil {
		return err
	}
	key, err := int64(0), error(nil)
	if g.isAltered() {
		key, err = f.read(ctx, st)
	} else {
		err = apart(ctx, g, []store.Column{f.column}, func(ctx context.Context) (err error) {
			key, err = f.greatest(ctx, st)
			return err
		})
	}
	if err != nil {
		return err
	}
	switch err := f.flake.Above(key); {
	case err != nil && f.composite == nil:
		return fmt.Errorf("%w: say on_behind: warn if they are other programs'", err)
	case err != nil:
		return err
	}
	f.done.Store(!g.isAltered()) // others may see other keys, or a rollback bring them back
	return nil
}
