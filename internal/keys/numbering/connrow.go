package numbering

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/keyfill/keyfill/dialect"
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

// ConnRow is the row of a sequence, or of series, in the database of each statement's
// connection, as on SQLite.
type ConnRow struct {
	Dialect *dialect.Dialect
	Rows    *reserver.Reserver   // of no connection yet; nil for series
	Series  *series.Rows         // of no connection yet; nil for others
	Ranked  bool                 // there is a greatest key to compare with
	Leases  *statestore.LeaseLog // of series; nil for others
}

// at returns access to the row on the connection of g.
func (r *ConnRow) at(g *relation.Session) keysource.At {
	at := keysource.At{Open: g.Tx != session.Outside}
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

// keysEnd returns the number from which keys belong to another state, as the row says now; 0
// for none.
func (r *ConnRow) keysEnd(ctx context.Context, g *relation.Session) (int64, error) {
	st := store.On(r.Dialect, g.Own())
	if g.Tx != session.Outside {
		st = store.Within(r.Dialect, g.Own())
	}
	return r.Rows.At(st).KeysEndNow(ctx)
}

// Committing is a row outside of transactions. Each of its calls is a transaction of its own,
// although one statement would do: the engine refuses to begin a transaction inside another,
// so a reservation has committed even if keyfill did not see a BEGIN.
type Committing struct {
	Row   *ConnRow
	On    *relation.Session
	asked *reserver.Reserver // for the greatest key, outside of transactions; nil if none was
}

// ErrInside is returned by a Committing inside a transaction. The connection then notes that a
// transaction may be open.
var ErrInside = errors.New("a transaction is open")

// Reserve is the method of [Numbers].
func (c Committing) Reserve(ctx context.Context, n, seen int64) (r keysource.Reservation, err error) {
	defer report.WaitsOf(ctx).Since(time.Now())
	for {
		err = c.commit(ctx, func(rows *reserver.Reserver) error {
			// A transaction that waited for another store would keep others from writing.
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

// openRows is a row inside a transaction.
type openRows struct{ *reserver.Reserver }

func (r openRows) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	defer report.WaitsOf(ctx).Since(time.Now())
	return r.Reserver.Reserve(ctx, n, seen)
}

// Advance is the method of [keysource.Reserver].
func (c Committing) Advance(ctx context.Context, to int64) error {
	return c.commit(ctx, func(rows *reserver.Reserver) error { return rows.Advance(ctx, to) })
}

func (c Committing) commit(ctx context.Context, f func(*reserver.Reserver) error) error {
	return c.Transact(ctx, func(st *store.Store) error { return f(c.Row.Rows.At(st).Knowing(c.asked)) })
}

// Transact calls f with the store inside a transaction of its own.
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
		// A transaction that could not be committed stays open: SQLITE_BUSY.
		c.On.EndFailed(ctx, err)
		return err
	}
	return nil
}

// Bind binds the state of a row to one more column, and reports whether the binding stays if
// the statement's transaction is rolled back.
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

// seriesAt returns access to the series on the connection of g.
func (r *ConnRow) seriesAt(g *relation.Session) keysource.SeriesAt {
	at := keysource.SeriesAt{Open: g.Tx != session.Outside}
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
		// If the transaction has ended, each of the statements would commit separately.
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
