package numbering

import (
	"context"
	"slices"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// FullServer reserves from a row in the application's own database. While the server
// accepts no more connections of keyfill, or of its user, an INSERT outside of a
// transaction reserves what it needs by one UPDATE on its own connection. It is safe
// for concurrent use.
type FullServer struct {
	rows *reserver.Reserver

	mu      sync.Mutex
	waiting []*fullWait
}

// FullServerOf returns the FullServer of a row. It returns nil for a row in another
// store, and for an engine on which the application could notice a reservation on the
// connection of its INSERT: see [session.IsAsOpened].
func FullServerOf(d *dialect.Dialect, src policy.Source, rows statestore.NumberState) *FullServer {
	if !d.LeavesNoTrace {
		return nil
	}
	if watched, ok := rows.(statestore.WatchedNumbers); ok {
		rows = watched.NumberState
	}
	if own, ok := rows.(*reserver.Reserver); ok && src.Store == "" {
		return &FullServer{rows: own}
	}
	return nil
}

// fullWait is an INSERT that waits for a block (a reserved range of integers).
type fullWait struct {
	give context.CancelFunc // cancels the wait
	full bool               // the wait was cancelled because the store got no connection
}

// Sparing reserves from a row, and cancels the waits of Full if its store gets no
// connection.
type Sparing struct {
	keysource.Reserver
	Full *FullServer
}

// Reserve implements [keysource.Reserver].
func (s Sparing) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := s.Reserver.Reserve(ctx, n, seen)
	if table.IsFull(err) {
		s.Full.tell()
	}
	return got, err
}

// tell cancels the waits of all INSERTs, and marks them as full (the store got no
// connection).
func (f *FullServer) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.waiting {
		w.full = true
		w.give()
	}
	f.waiting = nil
}

// reserve reserves n integers of a source as [counting.Sequence.Reserve] does. If the
// store gets no connection, it reserves them on the connection of g, whose settings are
// as the driver has opened it. ok is false if that fails too: the process then knows of
// no reserved number.
func (f *FullServer) reserve(ctx context.Context, g *relation.Session, s *counting.Sequence, n int64) (first int64, ok bool, err error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &fullWait{give: cancel}
	f.mu.Lock()
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	first, err = s.Reserve(wait, n)
	f.mu.Lock()
	f.waiting = slices.DeleteFunc(f.waiting, func(o *fullWait) bool { return o == w })
	full := w.full
	f.mu.Unlock()
	if err == nil || !full || ctx.Err() != nil {
		return first, true, err
	}
	first, err = s.ReserveWithin(ctx, n, counting.At{Reserver: lentRow{f.rows, g}, MaxKey: refuseMaxKey, Open: true})
	return first, err == nil, nil
}

// lentRow reserves from the row on the connection of an INSERT.
type lentRow struct {
	rows *reserver.Reserver
	on   *relation.Session
}

func (r lentRow) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	return reserver.ReserveBy(ctx, r.rows, r.on.Own(), n, seen)
}

// Advance does nothing: Reserve changes no row whose next value is below seen.
func (r lentRow) Advance(context.Context, int64) error { return nil }

// refuseMaxKey replaces the query for the greatest key, which only keyfill's own
// connections may answer: rights, or row-level security, may hide keys from other
// connections.
func refuseMaxKey(context.Context) (int64, error) { return 0, keysource.ErrStoreState }
