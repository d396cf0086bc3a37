package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// replacement reserves by reading the row, and replacing its value if that is still the
// same.
type replacement struct{ row *Row }

// take reserves n integers as [Reserve] does. No lock is held between the SELECT and
// the UPDATE.
func (s replacement) take(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	q, r, swap := s.row.q, s.row.store, s.row.Form.Swap
	for try := range store.SwapTries {
		if try > 0 {
			if err := store.Pause(ctx, r.Random, try); err != nil {
				return keysource.Reservation{}, err
			}
		}
		stored, err := s.row.Read(ctx)
		if err != nil {
			return keysource.Reservation{}, err
		}
		if err := s.row.unfit(ctx, stored, n, max(seen, 1)); err != nil {
			return keysource.Reservation{}, err
		}
		v, err := s.row.replacing(stored, stored.Next+n)
		if err != nil {
			return keysource.Reservation{}, err
		}
		changed, err := r.Conn.Exec(ctx, swap.Text, swap.Bind(v))
		switch {
		case err != nil:
			return keysource.Reservation{}, r.FailedAs(q.Meaning(), q.Name, err)
		case changed == 1:
			return keysource.Reservation{First: stored.Next, Server: stored.Answered()}, nil
		case changed > 1:
			return keysource.Reservation{}, s.row.manyRows(store.ErrRows)
		}
	}
	return keysource.Reservation{}, q.Fail(store.ErrContention, "")
}
