package sequence

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// takeLocked reserves n integers in a transaction that keeps the row locked from the
// SELECT on: for a next value that no UPDATE can compute.
func (s replacement) takeLocked(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	r := s.row.store
	read, err := r.Server.PutInto(ctx, s.row.Form.Locked.Text)
	if err != nil {
		return got, r.Failed(s.row.q.Name, err)
	}
	if r.Inside {
		got, err = s.takeOn(ctx, r.Conn, read, n, seen)
	} else {
		err = r.Conn.Transact(ctx, func(c store.Conn) error {
			got, err = s.takeOn(ctx, c, read, n, seen)
			return err
		})
	}
	if err != nil {
		return keysource.Reservation{}, s.row.unlessOurs(err)
	}
	return got, nil
}

// takeOn reserves n integers on a connection whose transaction is open. The query read
// reads the row and locks it.
func (s replacement) takeOn(ctx context.Context, c store.Conn, read string, n, seen int64) (got keysource.Reservation, err error) {
	if lock := s.row.Form.Lock; lock != "" {
		if _, err := c.Exec(ctx, lock, nil); err != nil {
			return got, err
		}
	}
	answer, err := c.Query(ctx, read, s.row.Form.Locked.Bind(s.row.q.rowValues()))
	if err != nil {
		return got, s.row.manyRows(err)
	}
	stored, err := s.row.parse(answer)
	if err != nil {
		return got, err
	}
	if err := s.row.unfit(ctx, stored, n, max(seen, 1)); err != nil {
		return got, err
	}
	if err := s.replace(ctx, c, stored, stored.Next+n); err != nil {
		return got, err
	}
	return keysource.Reservation{First: stored.Next, Server: stored.Server}, nil
}

// TakeInTransaction reserves n integers from a row of keyfill_sequences in the
// transaction that is open on the store's connection, for an engine whose UPDATE
// returns no values. First is 0 if the row does not exist or has fewer than n integers
// left.
func TakeInTransaction(ctx context.Context, s *store.Store, q *Sequence, n int64) (got keysource.Reservation, err error) {
	swap := replacement{NewRow(s, q, s.Engine.OwnForm())}
	read, err := s.Server.PutInto(ctx, swap.row.Form.Locked.Text)
	if err != nil {
		return got, err
	}
	answer, err := s.Conn.Query(ctx, read, swap.row.Form.Locked.Bind(q.rowValues()))
	if err != nil {
		return got, swap.row.manyRows(err)
	}
	stored, err := swap.row.parse(answer)
	if err != nil || stored == nil || stored.Next > q.Greatest()-n+1 {
		return got, err
	}
	if err := swap.replace(ctx, s.Conn, stored, stored.Next+n); err != nil {
		return got, err
	}
	return keysource.Reservation{First: stored.Next, Server: stored.Server}, nil
}

// replace sets the next value of a locked row, if the row is still as it was read. If that
// has changed one row, the integers are reserved.
func (s replacement) replace(ctx context.Context, c store.Conn, stored *staterow.Row, next int64) error {
	v, err := s.row.replacing(stored, next)
	if err != nil {
		return err
	}
	proof, swap := s.row.store.Proof, s.row.Form.Swap
	text := swap.Text
	if proof != nil {
		text = proof.AddTo(text)
	}
	for try := 1; ; try++ {
		if proof != nil {
			if err := proof.Prepare(ctx); err != nil {
				return err
			}
		}
		changed, err := c.Exec(ctx, text, swap.Bind(v))
		switch {
		case err != nil:
			return err
		case changed == 1:
			return nil
		case changed > 1:
			return s.row.manyRows(store.ErrRows)
		case proof == nil:
			return errUnlocked
		case !proof.MarksAgain(try):
			return store.ErrEnded
		}
	}
}

// errUnlocked is returned if another transaction has changed the row although it was
// locked.
var errUnlocked = errors.New("the row was changed although it was locked: the transaction has ended")
