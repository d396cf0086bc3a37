package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// TakeOutside reserves n integers outside of the range that the sequence skips. If one
// of the reserved integers is in the range, it gives up all of them, and raises the row
// above the range.
func (s *Row) TakeOutside(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	for range reserveTries {
		got, err := s.Take(ctx, n, seen)
		if err != nil || got.First < seen || !s.q.Bounds.Skip.Meets(got.First, n) {
			return got, err
		}
		if err := s.Advance(ctx, s.q.Bounds.Skip.Last+1); err != nil {
			return keysource.Reservation{}, err
		}
	}
	return keysource.Reservation{}, s.q.Fail(store.ErrBack, "") // the row was set back into the range each time
}
