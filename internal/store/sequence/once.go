package sequence

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// IsReservedOnce reports whether one UPDATE reserves from the row and returns the whole
// reservation, so that no query before or after it is needed.
func (s *Row) IsReservedOnce() bool {
	q, r := s.q, s.store
	return !q.IsForeign() && q.Procedure == "" && q.Lock != LockOptimistic && q.Codec == nil && q.Upstream == nil && !q.HoldsBlocks() &&
		!r.Engine.Rows.ReturnsLastInsertID && r.Engine.Rows.Reserve.Into == nil && r.Server.IsKnown()
}

// ReserveOnce reserves n integers by one UPDATE: see [Row.IsReservedOnce]. It sends
// nothing else, and returns keysource.ErrStoreState if the row stands below seen or has
// fewer than n integers left.
func (s *Row) ReserveOnce(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	q, r, floor := s.q, s.store, max(seen, 1)
	v := q.rowValues()
	v.Count, v.Floor, v.Limit = n, floor, s.Limit()-n+1
	answer, err := r.Update(ctx, r.Engine.Rows.Reserve, v)
	if err != nil {
		return keysource.Reservation{}, r.Failed(q.Name, err)
	}
	if answer == nil {
		return keysource.Reservation{}, keysource.ErrStoreState
	}
	got, lost, err := singleUpdate{s}.reserved(ctx, answer, 0, n, floor)
	if err == nil && (lost || q.Bounds.Skip.Meets(got.First, n)) {
		err = keysource.ErrStoreState // these integers may not be used, and are lost
	}
	return got, err
}
