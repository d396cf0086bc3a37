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

// A state (stored counter) may be kept in a store without SQL, which knows nothing of
// columns. The greatest key, which it must exceed, is read here, in the database of
// [sequence.Sequence].At.

// elsewhere replaces the name keyfill_sequences in errors about a stored counter that is
// kept in a store without SQL.
const elsewhere = "its store"

// First returns the first integer of a sequence whose state (stored counter) does not
// exist yet and is kept in another store. If the state must not be made, it returns an
// [*store.Error] with [store.ErrNoRow], [store.ErrFresh], [store.ErrStart],
// [store.ErrGone], [store.ErrUnread] or keysource.ErrExhausted.
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

// claimUsed is the next value of a claim (the row that says which state serves a
// column) whose state (stored counter) was used; before that it is 1.
const claimUsed = 2

// claimRows returns the names of the rows that claim the columns of a sequence whose
// stored counter is in another store than the columns.
func claimRows(q *sequence.Sequence) (rows []string) {
	if q.Claim.ClaimsAt == nil {
		return nil
	}
	for _, c := range q.Columns {
		rows = append(rows, binding.Claim{State: q.Claim.ClaimedAs, Column: c}.Row())
	}
	return rows
}

// unused returns the lowest integer at which a missing state (stored counter) may
// begin, given the claims (the rows that say which state serves a column) of all
// columns that it fills: above the keys of those columns that the sequence does not
// name. It returns [store.ErrGone] if a claim says that the state was used,
// [store.ErrUnread] if such keys cannot be read, and [store.ErrFresh] if there are such
// keys but they are not the integers of the sequence.
func unused(ctx context.Context, q *sequence.Sequence) (from int64, err error) {
	if q.Claim.ClaimsAt == nil {
		return 0, nil
	}
	at := q.Claim.ClaimsAt
	switch there, err := at.CanRead(ctx, engine.SequencesTable); {
	case err != nil:
		return 0, at.Failed(q.Name, err)
	case !there:
		return 0, nil // no claim was written, or this user may not read the table of claims
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

// columnFor returns the column of a claim (a row that says which source fills a column).
// Whether its keys have an index is not known, so the column is assumed to be like the
// columns of the sequence.
func columnFor(c binding.StoredClaim, q *sequence.Sequence) store.Column {
	column := c.Column
	column.Unranked = !slices.ContainsFunc(q.Columns, func(own store.Column) bool { return !own.Unranked })
	return column
}

// greatestOfClaim returns the greatest key in the column of a claim (a row that says
// which source fills a column), for a sequence whose stored counter does not exist.
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

// NoteUsed records in the claims (the rows that say which source fills a column) of a
// sequence's columns that its stored counter, which is kept in another store, was used.
// It returns false if it could not write that.
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

// GreatestKey returns the greatest key between from and to in the columns of a sequence
// that is kept in another store. It is 0 if there is none, or if the greatest key of no
// column can be queried.
func GreatestKey(ctx context.Context, q sequence.Sequence, from, to int64) (int64, error) {
	if q.At == nil {
		return 0, nil
	}
	return sequence.ColumnsOf(q.At, &q).GreatestFrom(ctx, from, to)
}
