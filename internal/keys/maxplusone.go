package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The source maxplusone gives the key after the greatest one in the table: it has no
// state but the table. Only the table's unique index keeps a key from being stored
// twice, and after the row with the greatest key is deleted, its key is given again.

var (
	// ErrNotUnique is returned for a key column without a unique index on that column
	// alone: package keyfill describes the error.
	ErrNotUnique = anchor.New("maxplusone", "keyfill: greatest key plus one is safe only under a unique index on the key column alone: create one, or use another source")

	errMaxUnseen = anchor.New("maxplusone", "the next key is the greatest one plus one, and whether a unique index covers its column is not known, since the catalog does not show the table")
)

// afterMax returns the first of n integers after the greatest key of a column, as
// the statement's transaction sees it.
func (dr Drawing) afterMax(ctx context.Context, n int64) (int64, error) {
	began := time.Now()
	first, err := dr.readMax(ctx, n)
	meter, _ := dr.sources.maxima.LoadOrStore(table.SourceName(dr.Table.Rule.Entry, &dr.Key.Rule), new(fetching.Meter))
	meter.(*fetching.Meter).Note(time.Now(), time.Since(began), n, 0, err)
	return first, err
}

// readMax does what afterMax does, without measuring it.
func (dr Drawing) readMax(ctx context.Context, n int64) (int64, error) {
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	switch {
	case err != nil:
		return 0, err
	case f.Unseen != nil:
		return 0, fmt.Errorf("%w: %w", errMaxUnseen, f.Unseen)
	case !f.Columns[dr.Index].Alone || !f.Columns[dr.Index].Ranked:
		return 0, ErrNotUnique
	}
	column := f.Columns[dr.Index].StoreColumn(dr.Table.Rule, dr.Key, false)
	if dr.Key.Rule.Source.Lock == policy.LockNone || !keycolumn.NeedsMutex(dr.Tables.AnyEngine().Dialect) {
		claim := binding.ClaimOfMax(column)
		claim.Exclusive = dr.Key.Rule.Source.Exclusive
		if _, err := dr.claimColumn(ctx, claim); err != nil {
			return 0, err
		}
	}
	var greatest int64
	if dr.Key.Rule.Source.Lock == policy.LockNone {
		stored := keycolumn.Of(store.Within(dr.Tables.AnyEngine().Dialect, dr.On.Own()), column)
		if greatest, err = stored.MaxKey(ctx); err == nil {
			err = stored.AllShown()
		}
	} else {
		within := dr.On.ProvenStore()
		if err = dr.enterMutex(ctx, f, column); err == nil {
			greatest, err = keycolumn.Of(within, column).LockedMaxKey(ctx)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case greatest > dr.Key.Limit()-n:
		return 0, fmt.Errorf("%w: the greatest key and %d more are beyond %d: make the column wider and raise max_bits", keysource.ErrExhausted, n, dr.Key.Limit())
	}
	return max(greatest, 0) + 1, nil
}

// unranked returns the column, marked so that its greatest key is not queried.
func unranked(c store.Column) store.Column {
	c.Unranked = true
	return c
}

// enterMutex waits for other transactions that are about to insert after the greatest
// key of a column, on engines where reading that key does not wait for them.
func (dr Drawing) enterMutex(ctx context.Context, f *table.Facts, column store.Column) error {
	if !keycolumn.NeedsMutex(dr.Tables.AnyEngine().Dialect) {
		return nil
	}
	name := keycolumn.MutexName(column)
	c, err := dr.sources.counters.Get(ctx, name, func() (*counter.Counter, error) {
		home, err := dr.Tables.Stores.Get("")
		if err != nil {
			return nil, err
		}
		// The number in the row means nothing: the row is changed so that other transactions
		// wait.
		row := sequence.Sequence{
			Name: name, Columns: []store.Column{unranked(column)}, Made: sequence.MadeRow{Start: 1},
			EnsureSchema: dr.Key.Rule.Source.EnsureSchema, Create: true, Exclusive: dr.Key.Rule.Source.Exclusive,
			OnBehind: keysource.RemedyWarn,
		}
		return &counter.Counter{Numbers: numbering.NewJoinedRow(dr.Tables, row, home), Home: f.Columns[dr.Index].Home()}, nil
	})
	if err == nil {
		_, err = c.Numbers.Reserve(ctx, dr.On, 1)
	}
	return err
}
