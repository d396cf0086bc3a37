package store

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/keysource"
)

// reserveLocked is reserve where the row stays locked from the SELECT to the end of
// the transaction: for a number that no UPDATE can work out.
func (s swapper) reserveLocked(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	r := s.row.run
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

// lockedText returns the query that reads the row and locks it.
func (s swapper) lockedText(ctx context.Context) (string, error) {
	return s.row.run.server.in(ctx, s.row.form.locked.text)
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
	proof, swap := s.row.run.proof, s.row.form.swap
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
