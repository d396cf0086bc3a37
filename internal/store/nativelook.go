package store

import (
	"cmp"
	"context"
	"math"

	"github.com/keyfill/keyfill/dialect"
)

// Look says of a sequence of the engine what the first draw would say, and draws
// nothing. A sequence whose last value is below the greatest key is [ErrBehind].
func (r *NativeReserver) Look(ctx context.Context) (Looked, error) {
	q, err := r.open(ctx)
	if err != nil {
		return Looked{}, err
	}
	found := Looked{Last: cmp.Or(q.max, math.MaxInt64), Sequence: q.quoted}
	// A key that others store meanwhile was drawn before.
	served := Sequence{Columns: r.native.Columns}
	if found.Greatest, found.IsRanked, err = columnsOf(r.store, &served).greatest(ctx); err != nil {
		return found, err
	}
	facts, err := catalogOf(r.store).facts(ctx, q.nativeName)
	if err != nil || facts == nil {
		return found, err
	}
	step := max(facts.increment, 1)
	switch {
	case facts.last > 0:
		found.Next = facts.last + min(step, maxNext-facts.last)
	case r.store.dialect.Family == dialect.FamilyPostgreSQL:
		// Nothing was drawn: PostgreSQL says where it will begin.
		row, err := r.store.conn.query(ctx, "SELECT seqstart FROM pg_catalog.pg_sequence WHERE seqrelid = CAST(CAST($1 AS text) AS regclass)", []any{q.quoted})
		if err == nil && row != nil {
			found.Next, err = toInteger(row[0])
		}
		if err != nil {
			return found, r.store.failed(q.shown(), err)
		}
	}
	if found.Next > 0 && facts.increment > 0 && found.IsRanked && found.Next <= found.Greatest-(step-1) {
		e := r.fail(q, ErrBehind, "")
		e.Next = found.Next
		return found, e
	}
	return found, nil
}
