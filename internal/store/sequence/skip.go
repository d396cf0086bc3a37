package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// ReserveOutside is reserve, whose integers are not of the range that the sequence skips.
// Integers that meet the range are given up as a whole, and the row is moved behind it.
func (s *Row) ReserveOutside(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	for range reserveTries {
		got, err := s.reserve(ctx, n, seen)
		if err != nil || got.First < seen || !s.q.Skip.Meets(got.First, n) {
			return got, err
		}
		if err := s.Advance(ctx, s.q.Skip.Last+1); err != nil {
			return keysource.Reservation{}, err
		}
	}
	return keysource.Reservation{}, s.q.Fail(store.ErrBack, "") // it was set back into the range each time
}
