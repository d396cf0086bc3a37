package reserver

import (
	"context"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// A state may be kept in a store without SQL, where nothing is known of columns. The greatest
// key, which such a state must exceed, is read here, in the database of
// [sequence.Sequence].At.

// elsewhere stands for keyfill_sequences in errors about such a state.
const elsewhere = "its store"

// First returns the first integer of a sequence whose state is not there, and is kept
// elsewhere. An [*store.Error] says why it is not to be made: [store.ErrNoRow],
// [store.ErrFresh], [store.ErrStart], [store.ErrGone], [store.ErrUnread] or
// keysource.ErrExhausted.
func First(ctx context.Context, q sequence.Sequence) (int64, error) {
	fail := func(cause error) (int64, error) {
		e := q.Fail(cause, "")
		e.Table = elsewhere
		return 0, e
	}
	switch {
	case !q.Create:
		return fail(store.ErrNoRow)
	case q.At == nil && (q.Fresh || q.Made.Start == 0):
		return fail(store.ErrStart)
	case q.At == nil:
		return q.Made.Start, nil
	}
	claimed, err := unused(ctx, &q)
	if err != nil {
		return 0, err
	}
	columns := sequence.ColumnsOf(q.At, &q)
	if q.Fresh {
		if used, err := columns.Used(ctx); err != nil {
			return 0, err
		} else if used {
			return fail(store.ErrFresh)
		}
	}
	greatest, ranked, err := columns.Greatest(ctx)
	if err != nil {
		return 0, err
	}
	start, err := opener{store: q.At, q: &q}.start(ctx, greatest, ranked)
	return max(start, claimed), err
}

// claimUsed is the next value of a claim whose state was used; before that it is 1.
const claimUsed = 2

// claimRows returns the names of the rows that claim the columns of a sequence whose state is
// not in their database.
func claimRows(q *sequence.Sequence) (rows []string) {
	if q.Claim.ClaimsAt == nil {
		return nil
	}
	for _, c := range q.Columns {
		rows = append(rows, binding.Claim{State: q.Claim.ClaimedAs, Column: c}.Row())
	}
	return rows
}

// unused returns the integer from which on a missing state may begin, by the claims of
// all columns that it fills: above the keys of the columns that are not the sequence's.
// It returns [store.ErrGone] if by a claim the state was used, [store.ErrUnread] if such
// keys cannot be read, and [store.ErrFresh] if there are such keys and they are not the
// sequence's integers.
func unused(ctx context.Context, q *sequence.Sequence) (from int64, err error) {
	if q.Claim.ClaimsAt == nil {
		return 0, nil
	}
	at := q.Claim.ClaimsAt
	switch there, err := at.CanRead(ctx, engine.SequencesTable); {
	case err != nil:
		return 0, at.Failed(q.Name, err)
	case !there:
		return 0, nil // nothing was noted, or not by this user
	}
	claims, err := binding.ClaimsOf(ctx, at, q.Claim.ClaimedAs)
	if err != nil {
		return 0, err
	}
	for _, c := range claims {
		if c.Next >= claimUsed {
			return 0, q.Fail(store.ErrGone, "%q", c.Name)
		}
	}
	for _, c := range claims {
		if slices.ContainsFunc(q.Columns, c.IsOf) {
			continue
		}
		greatest, err := greatestOfClaim(ctx, c, q)
		if err != nil {
			return 0, err
		}
		from = max(from, min(greatest, store.MaxReserved)+1)
	}
	return from, nil
}

// columnFor returns the column of the claim. How its keys are indexed is not known: they
// are taken to be like the keys of the sequence's columns.
func columnFor(c binding.StoredClaim, q *sequence.Sequence) store.Column {
	column := c.Column
	column.Unranked = !slices.ContainsFunc(q.Columns, func(own store.Column) bool { return !own.Unranked })
	return column
}

// greatestOfClaim returns the greatest key in the column of a claim, for a sequence whose
// state is not there.
func greatestOfClaim(ctx context.Context, c binding.StoredClaim, q *sequence.Sequence) (int64, error) {
	other := *q
	other.Columns = []store.Column{columnFor(c, q)}
	columns := sequence.ColumnsOf(q.Claim.ClaimsAt, &other)
	used, err := false, error(nil)
	if q.Fresh {
		used, err = columns.Used(ctx)
	}
	var greatest int64
	if err == nil {
		var ranked bool
		if greatest, ranked, err = columns.Greatest(ctx); err == nil && !ranked {
			err = columns.AllShown(ctx)
		}
	}
	switch {
	case errors.Is(err, store.ErrColumn), errors.Is(err, store.ErrRights):
		return 0, q.Fail(store.ErrUnread, "%q: %v", c.Name, err)
	case used:
		return 0, q.Fail(store.ErrFresh, "%q", c.Name)
	}
	return greatest, err
}

// NoteUsed notes in the claims of a sequence's columns that its state, which is kept
// elsewhere, was used. It reports false where that could not be written.
func NoteUsed(ctx context.Context, q sequence.Sequence) (noted bool) {
	noted = true
	for _, name := range claimRows(&q) {
		at := q.Claim.ClaimsAt
		claim, err := staterow.Read(ctx, at, name)
		if err == nil && claim != nil && claim.Next < claimUsed {
			note := at.Engine.Rows.Advance
			_, err = at.Conn.Exec(ctx, note.Text, note.Bind(engine.Values{Next: claimUsed, Name: name}))
		}
		noted = noted && err == nil
	}
	return noted
}

// GreatestKey returns the greatest key from from to to in the columns of a sequence
// that is kept elsewhere; 0 where there is none, or none can be asked for.
func GreatestKey(ctx context.Context, q sequence.Sequence, from, to int64) (int64, error) {
	if q.At == nil {
		return 0, nil
	}
	return sequence.ColumnsOf(q.At, &q).GreatestFrom(ctx, from, to)
}
