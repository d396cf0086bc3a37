package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// joinedRow is the row of a numbering whose numbers belong to the transactions of their
// INSERTs. No reserved number is remembered: a rollback would make the memory wrong.
//
// The row is made, and compared with the table, apart from those transactions,
// which might not see what others have made: on a connection of our own, on SQLite
// on the statement's.
type joinedRow struct {
	dialect *dialect.Dialect
	row     store.Sequence
	rows    *store.Reserver // of home; on SQLite of no connection yet
	home    *store.Store    // on a connection of our own; nil on SQLite
	draws   draws           // that were made of the row
	opened  atomic.Bool     // the row has committed, and was compared with its table

	// wait bounds the wait for the row on a connection of our own, which may wait for
	// the transaction itself. It is the policy's store_wait.
	wait time.Duration
}

// newJoinedRow returns the numbering of a row. home is nil where the row is read on the
// statement's connection.
func (db *Tables) newJoinedRow(row store.Sequence, home *store.Store) *joinedRow {
	d := db.AnyEngine().Dialect
	at := home
	if home == nil {
		at = store.On(d, nil)
	}
	return &joinedRow{dialect: d, row: row, rows: at.Reserver(unensured(row)), home: home, wait: db.storeWait}
}

// unensured returns a row whose tables are there: none are made in a transaction.
func unensured(row store.Sequence) store.Sequence {
	row.EnsureSchema = false
	return row
}

// within returns the row as the transaction finds it that is open on the
// connection.
func (r *joinedRow) within(ctx context.Context, g *Conn) (*store.Reserver, error) {
	st, away, err := g.states(ctx)
	switch {
	case err != nil:
		return nil, err
	case away && (r.row.Procedure != "" || r.row.Table != nil && !strings.Contains(r.row.Table.Name, ".")):
		return nil, errKeyTable
	}
	return r.rows.At(st).Whole(), nil
}

// reserve returns the first of n consecutive integers, which are the transaction's.
func (r *joinedRow) reserve(ctx context.Context, g *Conn, n int64) (int64, error) {
	if err := r.open(ctx, g); err != nil {
		return 0, err
	}
	rows, err := r.within(ctx, g)
	if err != nil {
		return 0, err
	}
	g.noteJoinedDraw()
	first, err := r.draws.draw(n, func() (int64, error) {
		got, err := rows.Reserve(ctx, n, 0)
		if err == nil && got.First < 1 {
			err = keysource.ErrStoreState
		}
		return got.First, err
	})
	if errors.Is(err, store.ErrNoRow) {
		r.opened.Store(false) // somebody has removed it
		if r.isThere(ctx) {
			err = errSnapshot
		}
	}
	return first, err
}

// errSnapshot is returned when the transaction does not see the row, since it has read
// before the row was made.
var errSnapshot = fmt.Errorf("%w: the transaction sees what was there when it began (REPEATABLE READ), and the row of its numbering was made after that: begin it again", keysource.ErrStoreState)

// isThere reports whether the row is found from outside of the transaction.
func (r *joinedRow) isThere(ctx context.Context) bool {
	if r.home == nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	row := r.row
	row.Create, row.OnBehind = false, keysource.RemedyWarn
	_, err := r.home.Open(limited, row)
	return err == nil
}

// open makes sure that the row can be used.
func (r *joinedRow) open(ctx context.Context, g *Conn) error {
	if r.opened.Load() {
		return nil
	}
	at := r.home
	if at == nil {
		at = store.Within(r.dialect, g.Raw)
	}
	row, err := r.openAt(ctx, at)
	if err != nil {
		return err
	}
	// A change of the row in a transaction may be rolled back, and so may the change of
	// the engine's own counter by which it was proven to stand above below, and the end
	// that another state was given.
	if r.home != nil || !row.Created && !r.row.Shared && r.row.OnBehind != keysource.RemedyAdvance && r.row.Below == 0 && r.row.StartAt == 0 {
		r.opened.Store(true)
	}
	return nil
}

// notSeen returns the error of a row that could not be looked at in time.
func (r *joinedRow) notSeen(err error) error {
	return anchor.Errorf("held-connection", "another connection could not read its numbering and its table for %s (store_wait), because the transaction has locked the table by TRUNCATE, ALTER or LOCK TABLE, or the server has no connection left: insert a row before that, or in a transaction of its own: %v", r.wait, err)
}

// openAt looks at the row and the greatest key.
func (r *joinedRow) openAt(ctx context.Context, at *store.Store) (store.Row, error) {
	if r.home == nil {
		return at.Open(ctx, r.row)
	}
	limited, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	row, err := at.Open(limited, r.row)
	if err == nil {
		err = r.rows.Open(limited) // within the transaction it might not be found
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = r.notSeen(err)
	}
	return row, err
}

// Advance makes later keys to or greater, in the transaction where one is open.
func (r *joinedRow) Advance(ctx context.Context, g *Conn, to int64) error {
	g.EnsureStates(ctx)
	if err := r.open(ctx, g); err != nil {
		return err
	}
	rows, err := r.within(ctx, g)
	if err != nil {
		return err
	}
	g.noteJoinedDraw()
	return rows.Advance(ctx, to)
}

func (r *joinedRow) IsOnConnection() bool { return r.home == nil }

func (r *joinedRow) IsJoined() bool { return true }

func (r *joinedRow) KeysEnd(ctx context.Context, g *Conn) (int64, error) {
	rows, err := r.within(ctx, g)
	if err != nil {
		return 0, err
	}
	return rows.KeysEndNow(ctx)
}

// suspect has the row compared with the table again. Nothing of it is reserved, but
// the number goes back, and would be given again and again.
func (r *joinedRow) suspect() { r.opened.Store(false) }

func (r *joinedRow) close(context.Context) error { return nil }

// newJoined attaches a row to a counter, whose numbers belong to transactions, and
// returns it.
func (dr making) newJoined(ctx context.Context, row store.Sequence, ranked bool, schema string, c *counter) (*joinedRow, error) {
	d := dr.db.AnyEngine().Dialect
	row.OnBehind = dr.key.Rule.Source.OnBehind
	if !ranked {
		row.OnBehind = keysource.RemedyWarn // see newSequence
	}
	if dr.db.StatesOnConnection() {
		if dr.on.OwnCounters != nil && schema != "" && schema != "main" && schema != "temp" {
			return nil, errElsewhere
		}
		joined := dr.db.newJoinedRow(row, nil)
		c.numbers = joined
		c.bound = newBoundOn(row, &connRow{dialect: d, ranked: ranked, rows: joined.rows})
		return joined, nil
	}
	home, err := dr.db.sources.stores.get("")
	if err != nil {
		return nil, err
	}
	row.EnsureSchema = dr.key.Rule.Source.EnsureSchema
	if dr.on.isAltered() {
		// Numbers that the transaction itself has drawn are in the table, as this
		// connection sees it, and not yet in the row, as others do.
		if row, err = dr.on.openHere(ctx, tableStates{home}, row, row.OnBehind, ranked && !dr.on.hasDrawn()); err != nil {
			return nil, err
		}
	}
	joined := dr.db.newJoinedRow(row, home)
	c.numbers, c.ends = joined, joined.rows
	c.bound = newBound(row, home.Reserver(row).Bind)
	return joined, nil
}
