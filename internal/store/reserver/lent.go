package reserver

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// ReserveBy reserves n integers as [Reserver.Reserve] does, on connection c of the
// application, which has the same settings as the store's own connections and no open
// transaction. It sends one UPDATE, which returns the integers, and nothing else. It
// returns keysource.ErrStoreState if the row was not opened, stands below seen or has fewer
// than n integers left, or if the sequence is reserved in another way.
func ReserveBy(ctx context.Context, r *Reserver, c driver.Conn, n, seen int64) (keysource.Reservation, error) {
	if n < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	row := sequence.NewRow(store.By(r.store, c), &r.sequence, nil)
	if !r.opened.Load() || !row.IsReservedOnce() {
		return keysource.Reservation{}, keysource.ErrStoreState
	}
	return row.ReserveOnce(ctx, n, seen)
}
