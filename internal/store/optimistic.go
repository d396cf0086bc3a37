package store

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// swapper reserves by reading the row, and replacing it where it is still the same.
type swapper struct{ row *sequenceRow }

// reserve is [Store.Reserve]. No lock is held between the SELECT and the UPDATE.
func (s swapper) reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	q, r, swap := s.row.q, s.row.store, s.row.form.swap
	for try := range swapTries {
		if try > 0 {
			if err := pause(ctx, r.random, try); err != nil {
				return keysource.Reservation{}, err
			}
		}
		stored, err := s.row.read(ctx)
		if err != nil {
			return keysource.Reservation{}, err
		}
		if err := s.row.unfit(ctx, stored, n, max(seen, 1)); err != nil {
			return keysource.Reservation{}, err
		}
		v, err := s.row.replacing(stored, stored.next+n)
		if err != nil {
			return keysource.Reservation{}, err
		}
		changed, err := r.conn.exec(ctx, swap.text, swap.bind(v))
		switch {
		case err != nil:
			return keysource.Reservation{}, r.failedAs(q.meaning(), q.Name, err)
		case changed == 1:
			return keysource.Reservation{First: stored.next, Server: stored.server}, nil
		case changed > 1:
			return keysource.Reservation{}, s.row.manyRows(ErrRows)
		}
	}
	return keysource.Reservation{}, q.fail(ErrContention, "")
}
