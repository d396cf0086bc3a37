package store

import "context"

// A state may be kept in a store without SQL, where nothing is known of columns.
// What such a state is to be above is asked here, in the database of [Sequence].At.

// elsewhere stands for keyfill_sequences in errors about such a state.
const elsewhere = "its store"

// First returns the first integer of a sequence whose state is not there, and is kept
// elsewhere. An [*Error] says why it is not to be made: [ErrNoRow], [ErrFresh],
// [ErrStart] or keysource.ErrExhausted.
func First(ctx context.Context, q Sequence) (int64, error) {
	fail := func(cause error) (int64, error) {
		e := q.fail(cause, "")
		e.Table = elsewhere
		return 0, e
	}
	switch {
	case !q.Create:
		return fail(ErrNoRow)
	case q.At == nil && (q.Fresh || q.Start == 0):
		return fail(ErrStart)
	case q.At == nil:
		return q.Start, nil
	}
	columns := q.At.run.columnsOf(&q)
	if q.Fresh {
		if used, err := columns.used(ctx); err != nil {
			return 0, err
		} else if used {
			return fail(ErrFresh)
		}
	}
	greatest, ranked, err := columns.greatest(ctx)
	if err != nil {
		return 0, err
	}
	return opener{q.At.run, &q}.start(ctx, greatest, ranked)
}

// GreatestKey returns the greatest key from from to to in the columns of a sequence
// that is kept elsewhere; 0 where there is none, or none can be asked for.
func GreatestKey(ctx context.Context, q Sequence, from, to int64) (int64, error) {
	if q.At == nil {
		return 0, nil
	}
	return q.At.run.columnsOf(&q).greatestFrom(ctx, from, to)
}
