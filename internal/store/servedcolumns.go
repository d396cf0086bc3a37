package store

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// servedColumns are the columns that the keys of a sequence go to, in the database
// that holds them, which may be another one than the sequence's.
type servedColumns struct {
	store *Store
	q     *Sequence
}

// columnsOf returns the columns of a sequence.
func columnsOf(r *Store, q *Sequence) servedColumns {
	if q.At != nil {
		return servedColumns{q.At, q}
	}
	return servedColumns{r, q}
}

// all returns each of the columns.
func (s servedColumns) all() []*KeyColumn {
	columns := make([]*KeyColumn, len(s.q.Columns))
	for i, c := range s.q.Columns {
		columns[i] = ColumnOf(s.store, c)
	}
	return columns
}

// reachable returns the columns whose tables can be asked for.
func (s servedColumns) reachable() []*KeyColumn {
	if s.q.Apart {
		return nil
	}
	return s.all()
}

// greatest returns the greatest key in the columns, 0 when they have no key that
// the sequence has to be above. It is not ranked when there is no column that can
// be asked, or one of which the user is not shown every row.
func (s servedColumns) greatest(ctx context.Context) (key int64, ranked bool, err error) {
	if s.q.Fresh || s.q.Codec != nil {
		return 0, false, nil
	}
	if err := s.proveBelow(ctx); err != nil {
		return 0, false, err
	}
	return s.greatestBy(func(k *KeyColumn) (int64, error) { return k.MaxKeyUpTo(ctx, s.q.keysEnd(), s.q.Skip) })
}

// greatestFrom is greatest of the keys from from to to, both included.
func (s servedColumns) greatestFrom(ctx context.Context, from, to int64) (int64, error) {
	if from <= 1 && to == math.MaxInt64 {
		key, ranked, err := s.greatest(ctx)
		if err == nil && !ranked {
			err = s.allShown(ctx)
		}
		return key, err
	}
	key, ranked, err := s.greatestBy(func(k *KeyColumn) (int64, error) { return k.maxKeyIn(ctx, from, to) })
	if err == nil && !ranked {
		err = s.allShown(ctx)
	}
	return key, err
}

// greatestBy returns the greatest of what ask returns for each column.
func (s servedColumns) greatestBy(ask func(*KeyColumn) (int64, error)) (key int64, ranked bool, err error) {
	hidden := false
	for _, k := range s.all() {
		if k.column.Unranked {
			continue
		}
		one, err := ask(k)
		if err != nil {
			return 0, false, err
		}
		key, ranked, hidden = max(key, one), true, hidden || k.hidden
	}
	return key, ranked && !hidden, nil
}

// counted returns the last number that the engine's own counters have given to the
// columns, or have passed; 0 where the columns have no such counter.
func (s servedColumns) counted(ctx context.Context) (int64, error) {
	var last int64
	for _, k := range s.all() {
		one, err := k.counted(ctx)
		if err != nil {
			return 0, err
		}
		last = max(last, one)
	}
	return last, nil
}

// used reports whether there is a key in the columns.
func (s servedColumns) used(ctx context.Context) (bool, error) {
	for _, k := range s.all() {
		if used, err := k.used(ctx); used || err != nil {
			return used, err
		}
	}
	return false, nil
}

// allShown returns [ErrHiddenRows] where rows of a column of a sequence may be hidden. It
// asks once more, for an error that is to say why.
func (s servedColumns) allShown(ctx context.Context) error {
	for _, k := range s.all() {
		if k.column.Unranked || k.store.engine.hides == "" {
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

// noStart returns [ErrStart], with the index by which the greatest key would be found where a
// column has none.
func (s servedColumns) noStart() *Error {
	e := s.q.fail(ErrStart, "")
	for _, k := range s.all() {
		if k.column.Unindexed {
			e.Detail = "above all keys, or an index that begins with the column, by which keyfill finds the greatest key"
			e.SQL = indexText(s.store.dialect, k.column)
			break
		}
	}
	return e
}

// indexText returns the statement that makes an index of a column.
func indexText(d *dialect.Dialect, c Column) string {
	const most, end = 63, "_idx" // PostgreSQL takes 63 bytes, and the others more
	name := c.Table + "_" + c.Name
	if len(name) > most-len(end) {
		name = strings.ToValidUTF8(name[:most-len(end)], "")
	}
	index, table := d.QuoteIdent(name+end), c.tableIn(d)
	if d.Family == dialect.FamilySQLite {
		// The name of the index says in which file it is:
		// https://sqlite.org/lang_createindex.html.
		index, table = c.schemaIn(d)+index, d.QuoteIdent(c.Table)
	}
	return fmt.Sprintf("CREATE INDEX %s ON %s (%s)", index, table, d.QuoteIdent(c.Name))
}
