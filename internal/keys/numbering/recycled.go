package numbering

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store"
)

// Recycled draws the numbers of a series (a run of integers) that the process leases.
// Numbers that it leaves unused are later given to another process.
type Recycled struct {
	Source *counting.Recycled
	Row    *ConnRow // set if the row is read on the connection of each statement; otherwise nil

	Columns []store.Column // the columns whose greatest key is read on a connection of keyfill's own; nil if none is read
	opened  atomic.Bool    // the greatest key was read
}

// reserveApart does what Reserve does, on a connection of keyfill's own.
func (r *Recycled) reserveApart(ctx context.Context, g *relation.Session, n int64) (first int64, err error) {
	if len(r.Columns) == 0 || r.opened.Load() {
		return r.Source.Reserve(ctx, n)
	}
	if g.IsAltered() {
		locks, err := store.Within(g.Tables.Dialect(), g.Own()).OwnLocks(ctx, r.Columns)
		if err == nil && locks.Tables {
			err = relation.ErrOwnLocks
		}
		if err != nil {
			return 0, err
		}
	}
	err = relation.Apart(ctx, g, r.Columns, func(ctx context.Context) error {
		first, err = r.Source.Reserve(ctx, n)
		return err
	})
	r.opened.Store(err == nil)
	return first, err
}

// Reserve implements [Numbers].
func (r *Recycled) Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	if r.Row == nil {
		return r.reserveApart(ctx, g, n)
	}
	g.EnsureStates(ctx)
	first, err := r.Source.ReserveOn(ctx, n, r.Row.seriesAt(g))
	if err == ErrInside || err != nil && g.EnsureStatesAgain(ctx) {
		first, err = r.Source.ReserveOn(ctx, n, r.Row.seriesAt(g))
	}
	return first, relation.NoteGone(g, err, g.Tables.Rows.Ensure)
}

// Advance raises the current series of integers so that its later keys are to or greater,
// and makes series that are opened from now on begin above to. The series of other
// processes are not changed.
func (r *Recycled) Advance(ctx context.Context, g *relation.Session, to int64) error {
	if r.Row == nil {
		return r.Source.Advance(ctx, to)
	}
	g.EnsureStates(ctx)
	err := r.Source.AdvanceOn(ctx, to, r.Row.seriesAt(g))
	if err == ErrInside {
		err = r.Source.AdvanceOn(ctx, to, r.Row.seriesAt(g))
	}
	return err
}

// IsOnConnection implements [Follower].
func (r *Recycled) IsOnConnection() bool { return r.Row != nil }

// IsJoined implements [Follower].
func (r *Recycled) IsJoined() bool { return false }

// Suspect implements [Numbers].
func (r *Recycled) Suspect() {
	r.opened.Store(false)
	r.Source.Suspect()
}

// Close implements [Numbers].
func (r *Recycled) Close(ctx context.Context) error { return leave(ctx, r.Source) }

// OnOwnConn calls a function with a connection of keyfill's own to the application's
// database.
type OnOwnConn func(context.Context, func(*relation.Session) error) error

// GiveBack gives back the unused numbers of the series of integers that count on the
// statements' connections, when the database is closed. If it fails, the leases expire.
func GiveBack(ctx context.Context, all []*Recycled, onOwn OnOwnConn) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	_ = onOwn(ctx, func(g *relation.Session) error {
		var errs []error
		for _, r := range all {
			errs = append(errs, r.Source.CloseOn(ctx, r.Row.seriesAt(g)))
		}
		return errors.Join(errs...)
	})
}
