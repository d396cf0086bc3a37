package fill

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
func (db *keyTables) afterMax(ctx context.Context, g *keysConn, t *table, i int, n int64) (int64, error) {
	k := &t.keys[i]
	f, err := db.facts(ctx, g, t)
	switch {
	case err != nil:
		return 0, err
	case f.unseen != nil:
		return 0, fmt.Errorf("%w: %w", errMaxUnseen, f.unseen)
	case !f.keys[i].alone || !f.keys[i].ranked:
		return 0, ErrNotUnique
	}
	column := f.keys[i].stored(t.rule, k, false)
	if k.rule.Source.Lock == policy.LockNone || !store.NeedsMutex(db.known().dialect) {
		claim := store.ClaimOfMax(column)
		claim.Exclusive = k.rule.Source.Exclusive
		if _, err := db.claimColumn(ctx, g, claim); err != nil {
			return 0, err
		}
	}
	var greatest int64
	if k.rule.Source.Lock == policy.LockNone {
		greatest, err = store.Within(db.known().dialect, g.Raw).MaxKey(ctx, column)
	} else {
		within := g.Proven()
		if err = db.enterMutex(ctx, g, k, f, i, column); err == nil {
			greatest, err = within.LockedMaxKey(ctx, column)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case greatest > k.limit()-n:
		return 0, fmt.Errorf("%w: the greatest key and %d more are beyond %d: make the column wider and raise max_bits", keysource.ErrExhausted, n, k.limit())
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
func (db *keyTables) enterMutex(ctx context.Context, g *keysConn, k *tableKey, f *tableFacts, i int, column store.Column) error {
	if !store.NeedsMutex(db.known().dialect) {
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
			EnsureSchema: k.rule.Source.EnsureSchema, Create: true, Exclusive: k.rule.Source.Exclusive,
			OnBehind: keysource.RemedyWarn,
		}
		return &counter{numbers: db.newJoinedRow(row, home), home: f.keys[i].home()}, nil
	})
	if err == nil {
		_, err = c.numbers.reserve(ctx, g, 1)
	}
	return err
}
