package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Reserve takes n ≥ 1 consecutive integers, of which it returns the first. seen is the
// end of the integers that this process knows to be reserved: the lowest integer that it
// does not know to be reserved, or 0.
//
// When it returns without an error the reservation has committed, or, on a
// store made by [store.Within], will with the transaction. After any other error but
// an [*store.Error] it may have, and the integers are lost.
//
// The [*store.Error] is [store.ErrNoRow]; [store.ErrBack] when the row stands below seen; or
// keysource.ErrExhausted when there are not n integers left up to the
// sequence's Max, though fewer may be: those from its Next on.
//
// The server in the answer identifies the row, which another one of its name that was
// made later or elsewhere does not share, and the server, which others may replace:
//
//	PostgreSQL   the system identifier and the timeline, which a standby that
//	             takes over, and a restore to a point in time, change
//	MySQL        @@server_uuid
//	MariaDB      @@server_id, @@hostname and @@port
//	SQL Server   @@SERVERNAME: the replica that a listener has chosen
//	Oracle       DB_UNIQUE_NAME: the primary or a standby
//	SQLite       nothing: there is no server
//
// None of these needs a right, and none changes when a server is started again.
// Where a server has no answer (another kind that speaks PostgreSQL's protocol,
// say), and on a connection of the application, it is the row's part alone.
func Reserve(ctx context.Context, s *store.Store, q Sequence, n, seen int64) (keysource.Reservation, error) {
	if n < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	row, err := RowOf(ctx, s, &q)
	if err != nil {
		return keysource.Reservation{}, err
	}
	return row.TakeAll(ctx, n, seen)
}

// TakeAll takes n consecutive integers, as [Reserve] does.
func (s *Row) TakeAll(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := s.TakeOutside(ctx, n, seen)
	if err == nil && got.First > s.Limit()-n+1 {
		return keysource.Reservation{}, s.Exhausted(got.First)
	}
	return got, err
}

// take chooses how integers are taken from the row. It is [Row.TakeAll], but that it takes
// integers of the range that the sequence skips, and that a procedure may have taken some
// beyond the limit.
func (s *Row) take(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	switch r := s.store; {
	case s.q.Procedure != "":
		return procedureCall{s}.take(ctx, n)
	case s.q.IsOptimistic() && !r.Inside:
		return replacement{s}.take(ctx, n, seen)
	case s.Form != nil && s.Form.Lockless:
		return keysource.Reservation{}, s.q.Fail(store.ErrKeyEngine, "")
	case s.q.Codec != nil, r.Engine.Rows.ReturnsLastInsertID && !readsOwnID(r):
		return replacement{s}.takeLocked(ctx, n, seen)
	}
	return singleUpdate{s}.take(ctx, n, seen)
}

// Advance raises the next value of a sequence to next, the lowest integer that
// is not known to be in use. It never lowers it, and does nothing where there
// is no row. As with [Reserve], it has committed when it returns. A
// procedure raises it by reserving.
func Advance(ctx context.Context, s *store.Store, q Sequence, next int64) error {
	return AdvanceRow(ctx, s, &q, next)
}

// AdvanceRow is [Advance] for a sequence that remembers its row.
func AdvanceRow(ctx context.Context, s *store.Store, q *Sequence, next int64) error {
	row, err := RowOf(ctx, s, q)
	if err != nil {
		return err
	}
	return row.Advance(ctx, next)
}

// Advance raises the next value, as the function [Advance] does.
func (s *Row) Advance(ctx context.Context, next int64) error {
	switch {
	case s.q.Procedure != "":
		return procedureCall{s}.advance(ctx, next)
	case s.q.Codec != nil:
		return s.advanceCoded(ctx, next)
	}
	st, v := s.store.Engine.Rows.Advance, s.q.rowValues()
	v.Next = next
	if s.q.Table != nil {
		value, ok := s.encode(next)
		if !ok {
			return s.Exhausted(0)
		}
		st, v.Next = s.Form.Advance, value
	}
	if _, err := s.store.Conn.Exec(ctx, st.Text, st.Bind(v)); err != nil {
		return s.store.FailedAs(s.q.Meaning(), s.q.Name, err)
	}
	return nil
}

// Raise is [Row.Advance], but locks no row that is not raised, if the engine can do that:
// a transaction with a snapshot would fail at such a row.
func (s *Row) Raise(ctx context.Context, next int64) error {
	st := s.store.Engine.Rows.Raise
	if st.Text == "" || s.q.Procedure != "" || s.q.Codec != nil || s.q.Table != nil {
		return s.Advance(ctx, next)
	}
	v := s.q.rowValues()
	v.Next = next
	if _, err := s.store.Conn.Exec(ctx, st.Text, st.Bind(v)); err != nil {
		return s.store.FailedAs(s.q.Meaning(), s.q.Name, err)
	}
	return nil
}

// advanceCoded raises a next value that is stored in another form, by reserving
// all integers below it.
func (s *Row) advanceCoded(ctx context.Context, next int64) error {
	row, err := s.Read(ctx)
	if err != nil || row == nil || row.Next >= next {
		return err
	}
	_, err = s.take(ctx, next-row.Next, 0)
	return err
}
