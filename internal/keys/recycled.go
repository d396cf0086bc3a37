package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
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

// newRecycled attaches series to a counter, whose numbers come from the row. src is the
// source with the remedy that it has for this table.
func (dr making) newRecycled(src policy.Source, row sequence.Sequence, ranked bool, schema string, c *counter) (*counter, error) {
	own := series.Options{
		Sequence: row, Size: src.Series, Lease: src.Lease,
		// Another one for each source: two that had one would share a series.
		Owner: owner() + "/" + rand.Text(),
	}
	o, made := src.RecycledOptions(), new(recycled)
	if dr.db.StatesOnConnection() && src.Store == "" {
		if isElsewhere(dr.on, schema) {
			return nil, errElsewhere
		}
		o.OnConnection = true
		d := dr.db.Candidates[0].Dialect
		made.row = &connRow{dialect: d, ranked: ranked, series: series.New(store.On(d, nil), own), leases: dr.leases(src.Series, src.Lease)}
		c.bound = newBoundOn(row, made.row)
	} else {
		st, err := dr.storeOf(src, &own.Sequence, c)
		if err != nil {
			return nil, err
		}
		rows := st.series(own)
		o.Store = rows
		if ranked {
			o.MaxKey, made.columns = rows.MaxKey, row.Columns
		}
		c.bound = newBound(row, rows.Bind)
	}
	source, err := keysource.NewRecycled(o, dr.env())
	if err != nil {
		return nil, err
	}
	made.source, c.numbers = source, made
	return c, nil
}

// storeOf returns the store of a source that does not count on the statements'
// connections, and completes its row and its counter.
func (dr making) storeOf(src policy.Source, row *sequence.Sequence, c *counter) (stateStore, error) {
	st, err := dr.states(src)
	if err != nil {
		return nil, err
	}
	if src.Store != "" && !dr.db.StatesOnConnection() {
		if row.At, err = dr.db.stores.get(""); err != nil {
			return nil, err
		}
		row.ClaimsAt, row.ClaimedAs = row.At, stateElsewhere(row.Name, src.Store)
		c.use = &usedState{row: *row}
	}
	row.EnsureSchema, row.Apart = src.EnsureSchema, src.Store != "" && dr.db.StatesOnConnection()
	return st, nil
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

// recycledOn returns the series that count on the statements' connections.
func (c *Counters) recycledOn() []*recycled {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*recycled
	for _, one := range c.all {
		if r, ok := one.numbers.(*recycled); ok && r.row != nil {
			found = append(found, r)
		}
	}
	return found
}
