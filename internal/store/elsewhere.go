package store

import "context"

// A state may be kept in a store without SQL, where nothing is known of columns.
// What such a state is to be above is asked here, in the database of [Sequence].At.

// elsewhere stands for keyfill_sequences in errors about such a state.
const elsewhere = "its store"

// First returns the first integer of a sequence whose state is not there, and is kept
// elsewhere. An [*Error] says why it is not to be made: [ErrNoRow], [ErrFresh],
// [ErrStart], [ErrGone] or keysource.ErrExhausted.
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
	if err := wasUsed(ctx, &q); err != nil {
		return 0, err
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

// claimUsed is the next value of a claim whose state was used; before that it is 1.
const claimUsed = 2

// claimsOf returns the names of the rows that claim the columns of a sequence whose state is
// not in their database.
func claimsOf(q *Sequence) (rows []string) {
	if q.ClaimsAt == nil {
		return nil
	}
	for _, c := range q.Columns {
		rows = append(rows, Claim{State: q.ClaimedAs, Column: c}.Row())
	}
	return rows
}

// wasUsed returns [ErrGone] where a claim says that the state was used.
func wasUsed(ctx context.Context, q *Sequence) error {
	rows := claimsOf(q)
	if rows == nil {
		return nil
	}
	at := q.ClaimsAt.run
	switch there, err := at.canRead(ctx, tables[0]); {
	case err != nil:
		return at.failed(q.Name, err)
	case !there:
		return nil // nothing was noted, or not by this user
	}
	for _, name := range rows {
		if claim, err := (stateRows{at}).read(ctx, name); err != nil {
			return err
		} else if claim != nil && claim.next >= claimUsed {
			return q.fail(ErrGone, "%q", name)
		}
	}
	return nil
}

// NoteUsed notes in the claims of a sequence's columns that its state, which is kept
// elsewhere, was used. It reports false where that could not be written.
func NoteUsed(ctx context.Context, q Sequence) (noted bool) {
	noted = true
	for _, name := range claimsOf(&q) {
		at := q.ClaimsAt.run
		claim, err := stateRows{at}.read(ctx, name)
		if err == nil && claim != nil && claim.next < claimUsed {
			note := at.engine.advance
			_, err = at.conn.exec(ctx, note.text, note.bind(values{pNext: claimUsed, pName: name}))
		}
		noted = noted && err == nil
	}
	return noted
}

// GreatestKey returns the greatest key from from to to in the columns of a sequence
// that is kept elsewhere; 0 where there is none, or none can be asked for.
func GreatestKey(ctx context.Context, q Sequence, from, to int64) (int64, error) {
	if q.At == nil {
		return 0, nil
	}
	return q.At.run.columnsOf(&q).greatestFrom(ctx, from, to)
}
