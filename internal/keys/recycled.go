package keys

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// recycled gives the numbers of a series that the process leases. Numbers that it leaves
// unused are given to another process.
type recycled struct {
	source *keysource.Recycled
	row    *connRow // where the row lives on the connection of each statement; nil elsewhere

	columns []store.Column // whose greatest key is read on a connection of our own; nil for none
	opened  atomic.Bool    // it was
}

// reserveApart is reserve on a connection of our own.
func (r *recycled) reserveApart(ctx context.Context, g *Session, n int64) (first int64, err error) {
	if len(r.columns) == 0 || r.opened.Load() {
		return r.source.Reserve(ctx, n)
	}
	if g.isAltered() {
		locks, err := store.Within(g.tables.Dialect(), g.Own()).OwnLocks(ctx, r.columns)
		if err == nil && locks.Tables {
			err = errOwnLocks
		}
		if err != nil {
			return 0, err
		}
	}
	err = apart(ctx, g, r.columns, func(ctx context.Context) error {
		first, err = r.source.Reserve(ctx, n)
		return err
	})
	r.opened.Store(err == nil)
	return first, err
}

func (r *recycled) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	if r.row == nil {
		return r.reserveApart(ctx, g, n)
	}
	g.EnsureStates(ctx)
	first, err := r.source.ReserveOn(ctx, n, r.row.seriesAt(g))
	if err == errInside || err != nil && g.ensureStatesAgain(ctx) {
		first, err = r.source.ReserveOn(ctx, n, r.row.seriesAt(g))
	}
	return first, noteGone(g, err, g.tables.rows.ensure)
}

// Advance makes later keys of the series in hand to or greater, and series that are opened
// from now on lie above. Series that others hold stay as they are.
func (r *recycled) Advance(ctx context.Context, g *Session, to int64) error {
	if r.row == nil {
		return r.source.Advance(ctx, to)
	}
	g.EnsureStates(ctx)
	err := r.source.AdvanceOn(ctx, to, r.row.seriesAt(g))
	if err == errInside {
		err = r.source.AdvanceOn(ctx, to, r.row.seriesAt(g))
	}
	return err
}

func (r *recycled) IsOnConnection() bool { return r.row != nil }

func (r *recycled) IsJoined() bool { return false }

func (r *recycled) KeysEnd(context.Context, *Session) (int64, error) { return 0, nil }

func (r *recycled) suspect() {
	r.opened.Store(false)
	r.source.Suspect()
}

func (r *recycled) close(ctx context.Context) error { return leave(ctx, r.source) }

// onOwnConn calls a function with a connection of our own to the application's database.
type onOwnConn func(context.Context, func(*Session) error) error

// giveBack gives back the rest of the series that are counted on the statements'
// connections, when the database is closed. Where it fails, the leases run out by
// themselves.
func giveBack(ctx context.Context, all []*recycled, onOwn onOwnConn) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	_ = onOwn(ctx, func(g *Session) error {
		var errs []error
		for _, r := range all {
			errs = append(errs, r.source.CloseOn(ctx, r.row.seriesAt(g)))
		}
		return errors.Join(errs...)
	})
}
