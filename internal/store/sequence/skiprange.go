package sequence

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// TakeOutside takes integers that are not of the range which the sequence skips. It gives
// up all that it has taken if one of them is, and moves the row to after the range.
func (s *Row) TakeOutside(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	for range reserveTries {
		got, err := s.take(ctx, n, seen)
		if err != nil || got.First < seen || !s.q.Bounds.Skip.Meets(got.First, n) {
			return got, err
		}
		if err := s.Advance(ctx, s.q.Bounds.Skip.Last+1); err != nil {
			return keysource.Reservation{}, err
		}
	}
	return keysource.Reservation{}, s.q.Fail(store.ErrBack, "") // it was set back into the range each time
}
