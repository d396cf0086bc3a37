package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The key after the greatest one in the table: there is no state but the table.
// Only its unique index keeps a key from being stored twice, and a key whose row
// was deleted from the top comes again.

var (
	// ErrNotUnique is returned for a column without a unique index of its own: package
	// keyfill describes it.
	ErrNotUnique = anchor.New("maxplusone", "keyfill: greatest key plus one is safe only under a unique index on the key column alone: create one, or use another source")

	errMaxUnseen = anchor.New("maxplusone", "the next key is the greatest one plus one, and whether a unique index covers its column is not known, since the catalog does not show the table")
)

// afterMax returns the first of n integers behind the greatest key of a column, as
// the statement's transaction sees it.
func (dr Drawing) afterMax(ctx context.Context, n int64) (int64, error) {
	began := time.Now()
	first, err := dr.readMax(ctx, n)
	meter, _ := dr.sources.maxima.LoadOrStore(SourceName(dr.table.Rule.Entry, &dr.key.Rule), new(keysource.Meter))
	if err != nil {
		meter.(*keysource.Meter).Failed(time.Now(), err)
		return 0, err
	}
	meter.(*keysource.Meter).Fetched(time.Now(), time.Since(began), n, 0)
	return first, nil
}

// readMax is afterMax, and measures nothing.
func (dr Drawing) readMax(ctx context.Context, n int64) (int64, error) {
	f, err := dr.tables.Facts(ctx, dr.on, dr.table)
	switch {
	case err != nil:
		return 0, err
	case f.unseen != nil:
		return 0, fmt.Errorf("%w: %w", errMaxUnseen, f.unseen)
	case !f.Columns[dr.index].alone || !f.Columns[dr.index].ranked:
		return 0, ErrNotUnique
	}
	column := f.Columns[dr.index].StoreColumn(dr.table.Rule, dr.key, false)
	if dr.key.Rule.Source.Lock == policy.LockNone || !keycolumn.NeedsMutex(dr.tables.AnyEngine().Dialect) {
		claim := binding.ClaimOfMax(column)
		claim.Exclusive = dr.key.Rule.Source.Exclusive
		if _, err := dr.claimColumn(ctx, claim); err != nil {
			return 0, err
		}
	}
	var greatest int64
	if dr.key.Rule.Source.Lock == policy.LockNone {
		stored := keycolumn.Of(store.Within(dr.tables.AnyEngine().Dialect, dr.on.Own()), column)
		if greatest, err = stored.MaxKey(ctx); err == nil {
			err = stored.AllShown()
		}
	} else {
		within := dr.on.ProvenStore()
		if err = dr.enterMutex(ctx, f, column); err == nil {
			greatest, err = keycolumn.Of(within, column).LockedMaxKey(ctx)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case greatest > dr.key.Limit()-n:
		return 0, fmt.Errorf("%w: the greatest key and %d more are beyond %d: make the column wider and raise max_bits", keysource.ErrExhausted, n, dr.key.Limit())
	}
	return max(greatest, 0) + 1, nil
}

// unranked returns a column whose greatest key is not asked for.
func unranked(c store.Column) store.Column {
	c.Unranked = true
	return c
}

// enterMutex waits for other transactions that are about to insert behind the greatest
// key of a column, where reading that key does not wait for them.
func (dr Drawing) enterMutex(ctx context.Context, f *Facts, column store.Column) error {
	if !keycolumn.NeedsMutex(dr.tables.AnyEngine().Dialect) {
		return nil
	}
	name := keycolumn.MutexName(column)
	c, err := dr.sources.counters.get(ctx, name, func() (*counter, error) {
		home, err := dr.tables.stores.get("")
		if err != nil {
			return nil, err
		}
		// What the row counts means nothing: it is changed so that others wait.
		row := sequence.Sequence{
			Name: name, Columns: []store.Column{unranked(column)}, Start: 1,
			EnsureSchema: dr.key.Rule.Source.EnsureSchema, Create: true, Exclusive: dr.key.Rule.Source.Exclusive,
			OnBehind: keysource.RemedyWarn,
		}
		return &counter{numbers: newJoinedRow(dr.tables, row, home), home: f.Columns[dr.index].home()}, nil
	})
	if err == nil {
		_, err = c.numbers.reserve(ctx, dr.on, 1)
	}
	return err
}
