package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Reserve reserves n ≥ 1 consecutive integers and returns the first. seen is the lowest
// integer that this process does not know to be reserved, or 0.
//
// When Reserve returns without an error, the reservation has committed; on a store of
// [store.Within] it commits with the transaction. After any error except an
// [*store.Error] it may have committed, and then the integers are lost.
//
// The [*store.Error] is [store.ErrNoRow]; [store.ErrBack] if the row stands below seen;
// or keysource.ErrExhausted if fewer than n integers are left up to the sequence's Max,
// those from its Next on.
//
// The server in the answer identifies two things: the row (another row of the same
// name, made later or elsewhere, has another identity), and the server, which another
// one may replace:
//
//	PostgreSQL   the system identifier and the timeline, which a standby that
//	             takes over, and a restore to a point in time, change
//	MySQL        @@server_uuid
//	MariaDB      @@server_id, @@hostname and @@port
//	SQL Server   @@SERVERNAME: the replica that a listener has chosen
//	Oracle       DB_UNIQUE_NAME: the primary or a standby
//	SQLite       nothing: there is no server
//
// None of these needs a right, and none changes when a server is restarted. If a server
// does not return its identity (another kind that speaks PostgreSQL's protocol, say),
// and on a connection of the application, only the row is identified.
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

// TakeAll reserves n consecutive integers as [Reserve] does.
func (s *Row) TakeAll(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := s.TakeOutside(ctx, n, seen)
	if err == nil && s.IsBeyond(got, n) {
		return keysource.Reservation{}, s.Exhausted(got.First)
	}
	return got, err
}

// IsBeyond reports whether some of n integers that were reserved are beyond the limit, as
// they may be if a procedure has reserved them.
func (s *Row) IsBeyond(got keysource.Reservation, n int64) bool { return got.First > s.Limit()-n+1 }

// Take reserves n integers from the row, in the way that the engine and the sequence
// need. Unlike [Row.TakeAll] it may return integers of the range that the sequence
// skips, or integers beyond the limit that a procedure has reserved.
func (s *Row) Take(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	switch r := s.store; {
	case s.q.Procedure != "":
		return procedureCall{s}.take(ctx, n)
	case s.q.Lock == LockOptimistic && !r.Inside:
		return replacement{s}.take(ctx, n, seen)
	case s.Form != nil && s.Form.Lockless:
		return keysource.Reservation{}, s.q.Fail(store.ErrKeyEngine, "")
	case s.q.Codec != nil, r.Engine.Rows.ReturnsLastInsertID && (!r.Pooled || r.Inside):
		// LAST_INSERT_ID must not be read from the answer to an UPDATE on a connection of the
		// application, which may read it there, nor in a transaction, where the answer does not
		// prove that the UPDATE has committed.
		return replacement{s}.takeLocked(ctx, n, seen)
	}
	return singleUpdate{s}.take(ctx, n, seen)
}

// Advance raises the next value of a sequence to next, the lowest integer that is not
// known to be in use. It never lowers the value, and does nothing if there is no row.
// As with [Reserve], the change has committed when it returns. A sequence with a
// procedure is raised by reserving.
func Advance(ctx context.Context, s *store.Store, q Sequence, next int64) error {
	return AdvanceRow(ctx, s, &q, next)
}

// AdvanceRow does what [Advance] does, for a sequence that remembers its row.
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

// Raise raises the next value as [Row.Advance] does, but does not lock a row that is
// not raised, if the engine can do that: in a transaction with a snapshot, locking such
// a row would fail.
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

// advanceCoded raises a next value that a [Codec] stores in another form, by reserving
// all integers below next.
func (s *Row) advanceCoded(ctx context.Context, next int64) error {
	row, err := s.Read(ctx)
	if err != nil || row == nil || row.Next >= next {
		return err
	}
	_, err = s.Take(ctx, next-row.Next, 0)
	return err
}
