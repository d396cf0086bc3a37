package numbering

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// ConnRow is the row of a sequence, or of series (leased runs of integers), that is
// read on the connection of each statement, as on SQLite.
type ConnRow struct {
	Dialect *dialect.Dialect
	Rows    *reserver.Reserver   // not bound to a connection yet; nil for series
	Series  *series.Rows         // not bound to a connection yet; nil for a sequence
	Ranked  bool                 // the row can be compared with a greatest key
	Leases  *statestore.LeaseLog // the log of the series' leases; nil for a sequence
}

// at returns access to the row on the connection of g.
func (r *ConnRow) at(g *relation.Session) counting.At {
	at := counting.At{Open: g.Tx != session.Outside}
	rows := r.Rows.At(store.On(r.Dialect, g.Own()))
	at.Reserver = Committing{r, g, rows}
	if at.Open {
		rows = r.Rows.At(store.Within(r.Dialect, g.Own())).AllOrNone()
		at.Reserver = openRows{rows}
	}
	if r.Ranked {
		at.MaxKey = rows.MaxKey
	}
	return at
}

// Committing changes a row outside of transactions. Each of its calls begins a
// transaction, although one statement would do without: the engine refuses to begin a
// transaction inside another, so a reservation has surely committed, even if keyfill
// did not see a BEGIN.
type Committing struct {
	Row   *ConnRow
	On    *relation.Session
	asked *reserver.Reserver // the Reserver that was asked for the greatest key before; nil if none was
}

// ErrInside is returned by a Committing if a transaction is open. The connection then
// notes that a transaction may be open.
var ErrInside = errors.New("a transaction is open")

// Reserve implements [keysource.Reserver].
func (c Committing) Reserve(ctx context.Context, n, seen int64) (r keysource.Reservation, err error) {
	defer report.WaitsOf(ctx).Since(time.Now())
	for {
		err = c.commit(ctx, func(rows *reserver.Reserver) error {
			// Do not wait for another store inside the transaction, which would keep other
			// connections from writing.
			r, err = rows.NoWait().Reserve(ctx, n, seen)
			return err
		})
		if err != upstream.ErrNoBlock {
			return r, err
		}
		if err := c.Row.Rows.Upstream().Await(ctx); err != nil {
			return r, err
		}
	}
}

// openRows reserves from a row inside the open transaction.
type openRows struct{ *reserver.Reserver }

func (r openRows) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	defer report.WaitsOf(ctx).Since(time.Now())
	return r.Reserver.Reserve(ctx, n, seen)
}

// Advance implements [keysource.Reserver].
func (c Committing) Advance(ctx context.Context, to int64) error {
	return c.commit(ctx, func(rows *reserver.Reserver) error { return rows.Advance(ctx, to) })
}

func (c Committing) commit(ctx context.Context, f func(*reserver.Reserver) error) error {
	return c.Transact(ctx, func(st *store.Store) error { return f(c.Row.Rows.At(st).Knowing(c.asked)) })
}

// Transact begins a transaction, calls f with a store inside it, and commits.
func (c Committing) Transact(ctx context.Context, f func(*store.Store) error) error {
	tx, err := c.On.BeginDriver(ctx, driver.TxOptions{})
	if err != nil {
		if session.IsNestedBegin(err) {
			c.On.MarkUnknown()
			return ErrInside
		}
		return err
	}
	if err := f(store.Within(c.Row.Dialect, c.On.Own())); err != nil {
		c.On.EndFailed(ctx, tx.Rollback())
		return err
	}
	if err := tx.Commit(); err != nil {
		// SQLite leaves a transaction open whose commit has failed with SQLITE_BUSY, so
		// roll it back.
		c.On.EndFailed(ctx, err)
		return err
	}
	return nil
}

// Bind binds the stored counter of a row to one more column, and reports whether the
// binding stays if the statement's transaction is rolled back.
func (r *ConnRow) Bind(ctx context.Context, g *relation.Session, c store.Column) (stays bool, err error) {
	bind := func(st *store.Store) error {
		if r.Series != nil {
			return r.Series.At(st).Bind(ctx, c)
		}
		return r.Rows.At(st).Bind(ctx, c)
	}
	if g.Tx == session.Outside {
		if err = (Committing{Row: r, On: g}).Transact(ctx, bind); err != ErrInside {
			return true, err
		}
	}
	return false, bind(store.Within(r.Dialect, g.Own()))
}

// seriesAt returns access to the series of integers on the connection of g.
func (r *ConnRow) seriesAt(g *relation.Session) counting.SeriesAt {
	at := counting.SeriesAt{Open: g.Tx != session.Outside}
	at.Transact = func(ctx context.Context, f func(keysource.SeriesStore) error) (err error) {
		told := &statestore.HeldLines{Of: r.Leases}
		defer func() {
			if err == nil {
				told.Flush(ctx)
			}
		}()
		inside := func(st *store.Store) error {
			return f(statestore.WatchedSeries{SeriesStore: r.Series.At(st), Told: told})
		}
		if !at.Open {
			return Committing{Row: r, On: g}.Transact(ctx, inside)
		}
		// Check this first: if the transaction has ended, each of the statements would commit
		// separately.
		err = g.ProvenStore().Prove(ctx)
		switch {
		case errors.Is(err, store.ErrEnded):
			return Committing{Row: r, On: g}.Transact(ctx, inside)
		case err != nil:
			return err
		}
		return inside(store.Within(r.Dialect, g.Own()))
	}
	if r.Ranked {
		at.MaxKey = func(ctx context.Context, from, to int64) (int64, error) {
			return r.Series.At(store.On(r.Dialect, g.Own())).MaxKey(ctx, from, to)
		}
	}
	return at
}
