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
	read, err := s.lockedText(ctx)
	if err != nil {
		return got, r.Failed(s.row.q.Name, err)
	}
	err = r.Conn.Transact(ctx, func(c store.Conn) error {
		if lock := s.row.Form.Lock; lock != "" {
			if _, err := c.Exec(ctx, lock, nil); err != nil {
				return err
			}
		}
		stored, err := s.readLocked(ctx, c, read)
		if err != nil {
			return err
		}
		if err := s.row.unfit(ctx, stored, n, max(seen, 1)); err != nil {
			return err
		}
		if err := s.replace(ctx, c, stored, stored.Next+n); err != nil {
			return err
		}
		got = keysource.Reservation{First: stored.Next, Server: stored.Server}
		return nil
	})
	if err != nil {
		return keysource.Reservation{}, s.row.unlessOurs(err)
	}
	return got, nil
}

// TakeInTransaction reserves n integers from a row of keyfill_sequences in the
// transaction that is open on the store's connection, for an engine whose UPDATE
// returns no values. First is 0 if the row does not exist or has fewer than n integers
// left.
func TakeInTransaction(ctx context.Context, s *store.Store, q *Sequence, n int64) (got keysource.Reservation, err error) {
	swap := replacement{NewRow(s, q, s.Engine.OwnForm())}
	read, err := swap.lockedText(ctx)
	if err != nil {
		return got, err
	}
	stored, err := swap.readLocked(ctx, s.Conn, read)
	if err != nil || stored == nil || stored.Next > q.Greatest()-n+1 {
		return got, err
	}
	if err := swap.replace(ctx, s.Conn, stored, stored.Next+n); err != nil {
		return got, err
	}
	return keysource.Reservation{First: stored.Next, Server: stored.Server}, nil
}

// lockedText returns the query that reads the row and locks it.
func (s replacement) lockedText(ctx context.Context) (string, error) {
	return s.row.store.Server.PutInto(ctx, s.row.Form.Locked.Text)
}

// readLocked reads the row by the query that lockedText returns.
func (s replacement) readLocked(ctx context.Context, c store.Conn, query string) (*staterow.Row, error) {
	answer, err := c.Query(ctx, query, s.row.Form.Locked.Bind(s.row.q.rowValues()))
	if err != nil {
		return nil, s.row.manyRows(err)
	}
	return s.row.parse(answer)
}

// replace sets the next value of a locked row, if the row is still as it was read. The
// reservation is proven if one row has changed.
func (s replacement) replace(ctx context.Context, c store.Conn, stored *staterow.Row, next int64) error {
	v, err := s.row.replacing(stored, next)
	if err != nil {
		return err
	}
	proof, swap := s.row.store.Proof, s.row.Form.Swap
	text := proof.AddTo(swap.Text)
	return proof.Provenly(ctx, func() (bool, error) {
		changed, err := c.Exec(ctx, text, swap.Bind(v))
		switch {
		case err != nil:
			return false, err
		case changed > 1:
			return false, s.row.manyRows(store.ErrRows)
		case changed == 0 && proof == nil:
			return false, errUnlocked
		}
		return changed == 1, nil
	})
}

// errUnlocked is returned if another transaction has changed the row although it was
// locked.
var errUnlocked = errors.New("the row was changed although it was locked: the transaction has ended")
