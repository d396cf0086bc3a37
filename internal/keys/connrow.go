package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// connRow is the row of a sequence, or of series, in the database of each statement's
// connection, as on SQLite.
type connRow struct {
	dialect *dialect.Dialect
	rows    *reserver.Reserver // of no connection yet; nil for series
	series  *series.Rows       // of no connection yet; nil for others
	ranked  bool               // there is a greatest key to compare with
	leases  *leaseLog          // of series; nil for others
}

// at returns the way to the row from a connection.
func (r *connRow) at(g *Session) keysource.At {
	at := keysource.At{Open: g.Tx != session.Outside}
	rows := r.rows.At(store.On(r.dialect, g.Own()))
	at.Reserver = committing{r, g, rows}
	if at.Open {
		rows = r.rows.At(store.Within(r.dialect, g.Own())).AllOrNone()
		at.Reserver = openRows{rows}
	}
	if r.ranked {
		at.MaxKey = rows.MaxKey
	}
	return at
}

// keysEnd returns from where on keys are another state's, as the row says now; 0 for
// nowhere.
func (r *connRow) keysEnd(ctx context.Context, g *Session) (int64, error) {
	st := store.On(r.dialect, g.Own())
	if g.Tx != session.Outside {
		st = store.Within(r.dialect, g.Own())
	}
	return r.rows.At(st).KeysEndNow(ctx)
}

// committing is a row outside of transactions. Each of its calls is a transaction of its
// own, although one statement would do, because the engine refuses to begin a
// transaction inside another: so a reservation has committed even if a BEGIN was sent
// that keyfill did not see.
type committing struct {
	row   *connRow
	on    *Session
	asked *reserver.Reserver // for the greatest key, outside of transactions; nil: nobody was
}

// errInside is returned by a committing row inside a transaction. The connection then
// notes that a transaction may be open.
var errInside = errors.New("a transaction is open")

func (c committing) Reserve(ctx context.Context, n, seen int64) (r keysource.Reservation, err error) {
	defer WaitsOf(ctx).since(time.Now())
	for {
		err = c.commit(ctx, func(rows *reserver.Reserver) error {
			// A transaction that waited for another store would keep others from writing.
			r, err = rows.NoWait().Reserve(ctx, n, seen)
			return err
		})
		if err != upstream.ErrNoBlock {
			return r, err
		}
		if err := c.row.rows.Upstream().Await(ctx); err != nil {
			return r, err
		}
	}
}

// openRows is a row inside a transaction.
type openRows struct{ *reserver.Reserver }

func (r openRows) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	defer WaitsOf(ctx).since(time.Now())
	return r.Reserver.Reserve(ctx, n, seen)
}

func (c committing) Advance(ctx context.Context, to int64) error {
	return c.commit(ctx, func(rows *reserver.Reserver) error { return rows.Advance(ctx, to) })
}

func (c committing) commit(ctx context.Context, f func(*reserver.Reserver) error) error {
	return c.transact(ctx, func(st *store.Store) error { return f(c.row.rows.At(st).Knowing(c.asked)) })
}

// transact calls f with the store inside a transaction of its own.
func (c committing) transact(ctx context.Context, f func(*store.Store) error) error {
	tx, err := c.on.BeginDriver(ctx, driver.TxOptions{})
	if err != nil {
		if session.IsNestedBegin(err) {
			c.on.MarkUnknown()
			return errInside
		}
		return err
	}
	if err := f(store.Within(c.row.dialect, c.on.Own())); err != nil {
		c.on.EndFailed(ctx, tx.Rollback())
		return err
	}
	if err := tx.Commit(); err != nil {
		// One that could not be committed stays open: SQLITE_BUSY.
		c.on.EndFailed(ctx, err)
		return err
	}
	return nil
}

// bind binds the state of a row to one more column, and reports whether that
// stays whatever becomes of the statement's transaction.
func (r *connRow) bind(ctx context.Context, g *Session, c store.Column) (stays bool, err error) {
	bind := func(st *store.Store) error {
		if r.series != nil {
			return r.series.At(st).Bind(ctx, c)
		}
		return r.rows.At(st).Bind(ctx, c)
	}
	if g.Tx == session.Outside {
		if err = (committing{row: r, on: g}).transact(ctx, bind); err != errInside {
			return true, err
		}
	}
	return false, bind(store.Within(r.dialect, g.Own()))
}

// seriesAt returns the way to the series from a connection.
func (r *connRow) seriesAt(g *Session) keysource.SeriesAt {
	at := keysource.SeriesAt{Open: g.Tx != session.Outside}
	at.Transact = func(ctx context.Context, f func(keysource.SeriesStore) error) (err error) {
		told := &heldLines{of: r.leases}
		defer func() {
			if err == nil {
				told.flush(ctx)
			}
		}()
		inside := func(st *store.Store) error { return f(watchedSeries{SeriesStore: r.series.At(st), told: told}) }
		if !at.Open {
			return committing{row: r, on: g}.transact(ctx, inside)
		}
		// Its several statements would each commit where the transaction has ended.
		err = g.ProvenStore().Prove(ctx)
		switch {
		case errors.Is(err, store.ErrEnded):
			return committing{row: r, on: g}.transact(ctx, inside)
		case err != nil:
			return err
		}
		return inside(store.Within(r.dialect, g.Own()))
	}
	if r.ranked {
		at.MaxKey = func(ctx context.Context, from, to int64) (int64, error) {
			return r.series.At(store.On(r.dialect, g.Own())).MaxKey(ctx, from, to)
		}
	}
	return at
}
