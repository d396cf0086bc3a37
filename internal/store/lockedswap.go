package store

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/keysource"
)

// reserveLocked is reserve where the row stays locked from the SELECT to the end of
// the transaction: for a number that no UPDATE can work out.
func (s swapper) reserveLocked(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	r := s.row.store
	read, err := s.lockedText(ctx)
	if err != nil {
		return got, r.failed(s.row.q.Name, err)
	}
	err = r.conn.transact(ctx, func(c conn) error {
		if lock := s.row.form.lock; lock != "" {
			if _, err := c.exec(ctx, lock, nil); err != nil {
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
		if err := s.replace(ctx, c, stored, stored.next+n); err != nil {
			return err
		}
		got = keysource.Reservation{First: stored.next, Server: stored.server}
		return nil
	})
	if err != nil {
		return keysource.Reservation{}, s.row.unlessOurs(err)
	}
	return got, nil
}

// reserveLockedRow reserves n integers of a row of keyfill_sequences in the transaction that
// is open on the connection of a store, for an engine whose UPDATE does not answer. First is
// 0 where there is no row, or it does not have as many left.
func reserveLockedRow(ctx context.Context, r *Store, q *Sequence, n int64) (got keysource.Reservation, err error) {
	swap := swapper{newRow(r, q, r.engine.ownForm())}
	read, err := swap.lockedText(ctx)
	if err != nil {
		return got, err
	}
	stored, err := swap.readLocked(ctx, r.conn, read)
	if err != nil || stored == nil || stored.next > q.max()-n+1 {
		return got, err
	}
	if err := swap.replace(ctx, r.conn, stored, stored.next+n); err != nil {
		return got, err
	}
	return keysource.Reservation{First: stored.next, Server: stored.server}, nil
}

// lockedText returns the query that reads the row and locks it.
func (s swapper) lockedText(ctx context.Context) (string, error) {
	return s.row.store.server.in(ctx, s.row.form.locked.text)
}

// readLocked reads the row by the query of lockedText.
func (s swapper) readLocked(ctx context.Context, c conn, query string) (*storedRow, error) {
	answer, err := c.query(ctx, query, s.row.form.locked.bind(s.row.q.rowValues()))
	if err != nil {
		return nil, s.row.manyRows(err)
	}
	return s.row.parse(answer)
}

// replace sets the next value of a row that is locked, where it is still as it was
// read. That one row has changed is the proof of the reservation.
func (s swapper) replace(ctx context.Context, c conn, stored *storedRow, next int64) error {
	v, err := s.row.replacing(stored, next)
	if err != nil {
		return err
	}
	proof, swap := s.row.store.proof, s.row.form.swap
	text := proof.behind(swap.text)
	return proof.provenly(ctx, func() (bool, error) {
		changed, err := c.exec(ctx, text, swap.bind(v))
		switch {
		case err != nil:
			return false, err
		case changed > 1:
			return false, s.row.manyRows(ErrRows)
		case changed == 0 && proof == nil:
			return false, errUnlocked
		}
		return changed == 1, nil
	})
}

// errUnlocked is a row that was changed by another one although it was locked.
var errUnlocked = errors.New("the row was changed although it was locked: the transaction has ended")
