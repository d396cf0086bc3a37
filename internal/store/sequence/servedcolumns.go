package sequence

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// Columns are the columns that get the keys of a sequence, in the database that holds them,
// which may differ from the database of the sequence.
type Columns struct {
	store *store.Store
	q     *Sequence
}

// ColumnsOf returns the columns of a sequence.
func ColumnsOf(s *store.Store, q *Sequence) Columns {
	if q.At != nil {
		return Columns{q.At, q}
	}
	return Columns{s, q}
}

// all returns each of the columns as a KeyColumn.
func (s Columns) all() []*keycolumn.KeyColumn {
	columns := make([]*keycolumn.KeyColumn, len(s.q.Columns))
	for i, c := range s.q.Columns {
		columns[i] = keycolumn.Of(s.store, c)
	}
	return columns
}

// Reachable returns the columns whose tables can be queried.
func (s Columns) Reachable() []*keycolumn.KeyColumn {
	if s.q.Apart {
		return nil
	}
	return s.all()
}

// Greatest returns the greatest key in the columns, 0 if they have no key that the
// sequence has to exceed. ranked is false if no column can be asked for its greatest
// key, or if rows of a column may be hidden from the user.
func (s Columns) Greatest(ctx context.Context) (key int64, ranked bool, err error) {
	if s.q.Fresh || s.q.Codec != nil {
		return 0, false, nil
	}
	if err := s.ProveBelow(ctx); err != nil {
		return 0, false, err
	}
	return s.greatestBy(func(k *keycolumn.KeyColumn) (int64, error) { return k.MaxKeyUpTo(ctx, s.q.KeysEnd(), s.q.Bounds.Skip) })
}

// GreatestFrom returns the greatest key between from and to, both included: see
// [Columns.Greatest].
func (s Columns) GreatestFrom(ctx context.Context, from, to int64) (int64, error) {
	if from <= 1 && to == math.MaxInt64 {
		key, ranked, err := s.Greatest(ctx)
		if err == nil && !ranked {
			err = s.AllShown(ctx)
		}
		return key, err
	}
	key, ranked, err := s.greatestBy(func(k *keycolumn.KeyColumn) (int64, error) { return k.MaxKeyIn(ctx, from, to) })
	if err == nil && !ranked {
		err = s.AllShown(ctx)
	}
	return key, err
}

// greatestBy calls ask for each column and returns the greatest result.
func (s Columns) greatestBy(ask func(*keycolumn.KeyColumn) (int64, error)) (key int64, ranked bool, err error) {
	hidden := false
	for _, k := range s.all() {
		if k.Column.Unranked {
			continue
		}
		one, err := ask(k)
		if err != nil {
			return 0, false, err
		}
		key, ranked, hidden = max(key, one), true, hidden || k.Hidden
	}
	return key, ranked && !hidden, nil
}

// Used reports whether one of the columns holds a key.
func (s Columns) Used(ctx context.Context) (bool, error) {
	for _, k := range s.all() {
		if used, err := k.Used(ctx); used || err != nil {
			return used, err
		}
	}
	return false, nil
}

// AllShown returns [store.ErrHiddenRows] if rows of a column may be hidden from the
// user. It queries once more, to return an error that says so.
func (s Columns) AllShown(ctx context.Context) error {
	for _, k := range s.all() {
		if k.Column.Unranked || k.Store.Engine.Keys.Hides == "" {
			continue
		}
		if _, err := k.MaxKey(ctx); err != nil {
			return err
		}
		if err := k.AllShown(); err != nil {
			return err
		}
	}
	return nil
}

// NoStart returns [store.ErrStart]. If a column has no index by which its greatest key
// could be found, the error shows the statement that creates one.
func (s Columns) NoStart() *store.Error {
	e := s.q.Fail(store.ErrStart, "")
	for _, k := range s.all() {
		if k.Column.Unindexed {
			e.Detail = "above all keys, or an index that begins with the column, by which keyfill finds the greatest key"
			e.SQL = indexText(s.store.Dialect, k.Column)
			break
		}
	}
	return e
}

// indexText returns the statement that creates an index on a column.
func indexText(d *dialect.Dialect, c store.Column) string {
	const most, end = 63, "_idx" // PostgreSQL names have at most 63 bytes, other engines allow more
	name := c.Table + "_" + c.Name
	if len(name) > most-len(end) {
		name = strings.ToValidUTF8(name[:most-len(end)], "")
	}
	index, table := d.IndexNames(c.Schema, name+end, c.Table)
	return fmt.Sprintf("CREATE INDEX %s ON %s (%s)", index, table, d.QuoteIdent(c.Name))
}
