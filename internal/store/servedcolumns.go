package store

import (
	"context"
	"math"
)

// servedColumns are the columns that the keys of a sequence go to, in the database
// that holds them, which may be another one than the sequence's.
type servedColumns struct {
	run *runner
	q   *Sequence
}

// columnsOf returns the columns of a sequence.
func (r *runner) columnsOf(q *Sequence) servedColumns {
	if q.At != nil {
		return servedColumns{q.At.run, q}
	}
	return servedColumns{r, q}
}

// all returns each of the columns.
func (s servedColumns) all() []*KeyColumn {
	columns := make([]*KeyColumn, len(s.q.Columns))
	for i, c := range s.q.Columns {
		columns[i] = &KeyColumn{run: s.run, column: c}
	}
	return columns
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
