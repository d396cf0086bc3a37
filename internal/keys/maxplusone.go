package keys

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The key after the greatest one in the table: there is no state but the table.
// Only its unique index keeps a key from being stored twice, and a key whose row
// was deleted from the top comes again.

var (
	ErrNotUnique = errors.New("keyfill: greatest key plus one is safe only under a unique index on the key column alone: create one, or use another source")

	errMaxUnseen = errors.New("the next key is the greatest one and one, and whether its column has a unique index is not known: the catalog does not show the table")
)

// afterMax returns the first of n integers behind the greatest key of a column, as
// the statement's transaction sees it.
func (db *Tables) afterMax(ctx context.Context, g *Conn, t *Table, i int, n int64) (int64, error) {
	k := &t.KeyColumns[i]
	f, err := db.Facts(ctx, g, t)
	switch {
	case err != nil:
		return 0, err
	case f.unseen != nil:
		return 0, fmt.Errorf("%w: %w", errMaxUnseen, f.unseen)
	case !f.Columns[i].alone || !f.Columns[i].ranked:
		return 0, ErrNotUnique
	}
	column := f.Columns[i].Stored(t.Rule, k, false)
	if k.Rule.Source.Lock == policy.LockNone || !store.NeedsMutex(db.Known().Dialect) {
		claim := store.ClaimOfMax(column)
		claim.Exclusive = k.Rule.Source.Exclusive
		if _, err := db.claimColumn(ctx, g, claim); err != nil {
			return 0, err
		}
	}
	var greatest int64
	if k.Rule.Source.Lock == policy.LockNone {
		greatest, err = store.Within(db.Known().Dialect, g.Raw).MaxKey(ctx, column)
	} else {
		within := g.Proven()
		if err = db.enterMutex(ctx, g, k, f, i, column); err == nil {
			greatest, err = within.LockedMaxKey(ctx, column)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case greatest > k.Limit()-n:
		return 0, fmt.Errorf("%w: the greatest key and %d more are beyond %d: make the column wider and raise max_bits", keysource.ErrExhausted, n, k.Limit())
	}
	return max(greatest, 0) + 1, nil
}

// unranked returns a column whose greatest key is not asked for.
func unranked(c store.Column) store.Column {
	c.Unranked = true
	return c
}

// enterMutex waits for those who are about to insert behind the greatest key of a
// column, where reading it alone does not.
func (db *Tables) enterMutex(ctx context.Context, g *Conn, k *Column, f *Facts, i int, column store.Column) error {
	if !store.NeedsMutex(db.Known().Dialect) {
		return nil
	}
	name := store.MutexName(column)
	c, err := db.sources.counters.get(ctx, name, func() (*counter, error) {
		home, err := db.sources.stores.get("")
		if err != nil {
			return nil, err
		}
		// What the row counts means nothing: it is changed so that others wait.
		row := store.Sequence{
			Name: name, Columns: []store.Column{unranked(column)}, Start: 1,
			EnsureSchema: k.Rule.Source.EnsureSchema, Create: true, Exclusive: k.Rule.Source.Exclusive,
			OnBehind: keysource.RemedyWarn,
		}
		return &counter{numbers: db.newJoinedRow(row, home), home: f.Columns[i].home()}, nil
	})
	if err == nil {
		_, err = c.numbers.reserve(ctx, g, 1)
	}
	return err
}
