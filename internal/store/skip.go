package store

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// reserveOutside is reserve, whose integers are not of the range that the sequence skips.
// Integers that meet the range are given up as a whole, and the row is moved behind it.
func (s *sequenceRow) reserveOutside(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	for range reserveTries {
		got, err := s.reserve(ctx, n, seen)
		if err != nil || got.First < seen || !s.q.Skip.meets(got.First, n) {
			return got, err
		}
		if err := s.advance(ctx, s.q.Skip.Last+1); err != nil {
			return keysource.Reservation{}, err
		}
	}
	return keysource.Reservation{}, s.q.fail(ErrBack, "") // it was set back into the range each time
}
