package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/keyfill/keyfill/keysource"
)

// Reserve takes n ≥ 1 consecutive integers, of which it returns the first. seen
// is the end of what this process knows to be reserved: the lowest integer that
// it does not know to be, or 0.
//
// When it returns without an error the reservation has committed, or, on a
// store made by [Within], will with the transaction. After any other error but
// an [*Error] it may have, and the integers are lost.
//
// The [*Error] is [ErrNoRow]; [ErrBack] when the row stands below seen; or
// keysource.ErrExhausted when there are not n integers left up to the
// sequence's Max, though fewer may be: those from its Next on.
//
// The server in the answer tells the row from another one of its name that was
// made later or elsewhere, and the server from others that may stand in for it:
//
//	PostgreSQL   the system identifier and the timeline, which a standby that
//	             takes over, and a restore to a point in time, change
//	MySQL        @@server_uuid
//	MariaDB      @@server_id, @@hostname and @@port
//	SQL Server   @@SERVERNAME: the replica behind a listener
//	Oracle       DB_UNIQUE_NAME: the primary or a standby
//	SQLite       nothing: there is no server
//
// None of these needs a right, and none changes when a server is started again.
// Where a server has no answer (another kind that speaks PostgreSQL's protocol,
// say), and on a connection of the application, it is the row's part alone.
func (s *Store) Reserve(ctx context.Context, q Sequence, n, seen int64) (keysource.Reservation, error) {
	if n < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	v := values{pName: q.Name, pCount: n, pFloor: max(seen, 1), pLimit: q.max() - n + 1}
	for range reserveTries {
		row, err := s.update(ctx, s.engine.reserve, v)
		if err != nil {
			return keysource.Reservation{}, s.failed(q.Name, err)
		}
		if row != nil {
			next, err := toInteger(row[0])
			if err != nil {
				return keysource.Reservation{}, s.failed(q.Name, err)
			}
			return keysource.Reservation{First: next - n, Server: serverOf(row[1], row[2])}, nil
		}
		if err := s.whyNot(ctx, &q, n, max(seen, 1)); err != nil {
			return keysource.Reservation{}, err
		}
		// Another process has moved the row in between: it would fit now.
	}
	return keysource.Reservation{}, s.failed(q.Name, errors.New("the row was moved each time after it was found unfit"))
}

// reserveTries is how often an UPDATE that finds no row is sent when the row is
// then found fit.
const reserveTries = 3

// whyNot returns why an UPDATE has found no row, nil when it would find it now.
func (s *Store) whyNot(ctx context.Context, q *Sequence, n, floor int64) error {
	stored, err := s.read(ctx, q.Name)
	switch {
	case err != nil:
		return err
	case stored == nil:
		greatest, _, err := s.greatest(ctx, q)
		if err != nil {
			return err
		}
		return s.noRow(q, greatest)
	case stored.next < floor:
		e := q.fail(ErrBack, "")
		e.Next, e.server = stored.next, stored.server
		return e
	case stored.next > q.max()-n+1:
		return q.exhausted(stored.next)
	}
	return nil
}

// noRow returns the error of a sequence that has no row.
func (s *Store) noRow(q *Sequence, greatest int64) *Error {
	e := q.fail(ErrNoRow, "")
	e.SQL = s.insertText(q, greatest)
	return e
}

// Advance raises the next value of a sequence to next, the lowest integer that
// is not known to be in use. It never lowers it, and does nothing where there
// is no row. As with [Store.Reserve], it has committed when it returns.
func (s *Store) Advance(ctx context.Context, q Sequence, next int64) error {
	v := values{pName: q.Name, pNext: next}
	_, err := s.conn.exec(ctx, s.engine.advance.text, s.engine.advance.bind(v))
	if err != nil {
		return s.failed(q.Name, err)
	}
	return nil
}

// Reserver is the row of one sequence, for a [keysource.Sequence]. It opens the
// row when it is first used, and anew after it was missing. It is safe for
// concurrent use and must not be copied.
type Reserver struct {
	store    *Store
	sequence Sequence
	opened   *atomic.Bool // shared by those of At
	whole    bool         // never fewer than asked for
}

var _ keysource.Reserver = (*Reserver)(nil)

// Reserver returns the row of a sequence. It does no I/O.
func (s *Store) Reserver(q Sequence) *Reserver {
	return &Reserver{store: s, sequence: q, opened: new(atomic.Bool)}
}

// At returns the same row as another view of the database finds it: a store of
// [On] or [Within]. What one of them has opened, the others need not.
func (r *Reserver) At(s *Store) *Reserver {
	return &Reserver{store: s, sequence: r.sequence, opened: r.opened, whole: r.whole}
}

// Whole returns the same row, of which no fewer integers are reserved than are
// asked for: what is reserved for one statement inside a transaction, and does
// not suffice for it, is lost when the transaction commits.
func (r *Reserver) Whole() *Reserver {
	return &Reserver{store: r.store, sequence: r.sequence, opened: r.opened, whole: true}
}

// Reserve is [Store.Reserve] but for two errors: a row that stands below seen
// is no error but an answer, and where fewer than n integers are left up to the
// sequence's Max, those are reserved, but for [Reserver.Whole].
func (r *Reserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if err := r.open(ctx); err != nil {
		return keysource.Reservation{}, err
	}
	for {
		got, err := r.store.Reserve(ctx, r.sequence, n, seen)
		var e *Error
		if !errors.As(err, &e) {
			return got, err
		}
		switch left := r.sequence.max() - e.Next + 1; {
		case e.Err == ErrBack:
			return keysource.Reservation{First: e.Next, Server: e.server}, nil
		case e.Err == keysource.ErrExhausted && 0 < left && left < n && !r.whole:
			n = left
			continue
		case e.Err == ErrNoRow && r.opened.CompareAndSwap(true, false) && !r.store.pooled:
			// The transaction that had made it was rolled back.
			if err := r.open(ctx); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		return got, err
	}
}

// Bind binds a sequence that is shared to one more column, as those of its
// Columns are when it is opened: another state's is [ErrTaken]. What is bound
// already stays so. Within a transaction that is undone with it.
func (r *Reserver) Bind(ctx context.Context, c Column) error {
	if err := r.open(ctx); err != nil || !r.sequence.Shared {
		return err
	}
	if r.store.inside {
		// What fails here, fails where the rows are read.
		_ = r.store.lockRows(ctx)
	}
	q := r.sequence
	q.Columns = []Column{c}
	_, err := r.store.bind(ctx, q.binding())
	return err
}

// Advance is [Store.Advance].
func (r *Reserver) Advance(ctx context.Context, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.store.Advance(ctx, r.sequence, to)
}

// MaxKey returns the greatest key in the sequence's columns, for
// [keysource.SequenceOptions]; 0 where there is none, or none can be asked for.
func (r *Reserver) MaxKey(ctx context.Context) (int64, error) {
	key, _, err := r.store.greatest(ctx, &r.sequence)
	return key, err
}

// open opens the row once. Several may do so at the same time.
func (r *Reserver) open(ctx context.Context) error {
	if r.opened.Load() {
		return nil
	}
	_, _, bound, err := r.store.open(ctx, &r.sequence)
	if err != nil {
		return err
	}
	if bound && r.store.inside {
		// What binds it may be rolled back, and nobody would notice: the next
		// one looks again.
		return nil
	}
	r.opened.Store(true)
	return nil
}
