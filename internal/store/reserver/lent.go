package reserver

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// ReserveBy reserves n integers as [Reserver.Reserve] does, on a connection of the application that is
// like one of the store's own and on which no transaction is open: by the one UPDATE that
// answers with them. It sends nothing else, and returns keysource.ErrStoreState where the row
// has not been opened, stands below seen or has not n integers left, and where its integers
// are reserved in another way.
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
