package keys

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Drawing draws keys for one key column, on a connection or without one.
type Drawing struct {
	relation.Site
	sources *Sources
	own     *counter.ConnCounters // the counters of the connection; nil without a connection
}

// DrawingFor returns the Drawing for key column i of a table, without a connection of
// the application: the stored counter of the column's source has connections of its
// own.
func (s *Sources) DrawingFor(t *table.Table, i int) Drawing {
	return Drawing{Site: relation.Site{Tables: s.Tables, Table: t, Index: i, Key: &t.KeyColumns[i]}, sources: s}
}

// Append draws n keys and appends them to room.
func (dr Drawing) Append(ctx context.Context, room []driver.Value, n int) ([]driver.Value, error) {
	if dr.Key.Source != nil {
		return dr.Key.Source.Append(ctx, room, keysource.Request{N: n, Layout: dr.Key.Layout})
	}
	if dr.Key.Shape != nil {
		return dr.mapped(ctx, n)
	}
	_, first, err := dr.Reserve(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	return boxing.AppendIntegers(room, first, n, dr.Key.Layout), nil
}

// Reserve returns the first of n consecutive integers for the column, and the counter that
// has reserved them. The counter is nil for a source that takes the greatest key plus one.
func (dr Drawing) Reserve(ctx context.Context, n int64) (*counter.Counter, int64, error) {
	if dr.Key.InTransaction && dr.Key.Rule.Source.Kind == policy.KindMaxPlusOne {
		first, err := dr.afterMax(ctx, n)
		return nil, first, err
	}
	var locked session.Again
	for again := false; ; again = true {
		c, err := dr.Counter(ctx)
		switch {
		case err == relation.ErrOwnLocks && !again:
			continue
		case err != nil && dr.On != nil && session.ReservesAgain(ctx, &dr.On.Conn, &locked, err):
			continue
		case err != nil:
			return nil, 0, err
		}
		if dr.own != nil && dr.own.Renamed {
			// After a RENAME, only this transaction sees which keys the table holds now.
			dr.doubt(ctx, c)
		}
		var first int64
		if dr.own != nil && len(dr.own.Doubts) > 0 {
			first, err = dr.own.ReserveDoubted(ctx, dr.On, c, n)
		} else {
			first, err = c.Numbers.Reserve(ctx, dr.On, n)
		}
		switch {
		case err == relation.ErrOwnLocks && !again:
			continue
		case err != nil && dr.On != nil && session.ReservesAgain(ctx, &dr.On.Conn, &locked, err):
			continue
		case err == nil:
			c.Use.Note(ctx)
			if !c.Drawn.Load() {
				dr.firstDrawn(c)
			}
			if c.WarnAt > 0 && first >= c.WarnAt {
				dr.warnOfEnd(ctx, c)
			}
			return c, first, nil
		case unusable(err):
			// The next statement may be about another table with the same name, so it gets
			// a new counter.
			if err := c.Forget(ctx); err != nil {
				return nil, 0, err
			}
			dr.sources.found.Drop(dr.Key, c)
		case errors.Is(err, keysource.ErrClosed) && !again:
			// The counter was closed because the process had too many counters.
			dr.sources.found.Drop(dr.Key, c)
			continue
		case c.Unseen != nil && (errors.Is(err, store.ErrNoRow) || errors.Is(err, store.ErrStart)):
			err = &unseenTable{unseen: c.Unseen, row: err}
		}
		return nil, 0, err
	}
}

// firstDrawn looks for other servers that write into the table of the counter's row. It is
// called when a number was drawn for the first time.
func (dr Drawing) firstDrawn(c *counter.Counter) {
	c.Drawn.Store(true)
	if src := dr.Key.Rule.Source; table.InKeyfillsTables(src) && dr.Tables.Stores != nil {
		dr.Tables.Stores.WarnOfPeers(dr.Tables.Log, src.Store)
	}
}

// unusable reports whether an error means that the row of a stored counter belongs to
// another table or to another source.
func unusable(err error) bool {
	return errors.Is(err, store.ErrBound) || errors.Is(err, store.ErrTaken) || errors.Is(err, store.ErrTakenByValue) || errors.Is(err, store.ErrStartAt) || errors.Is(err, store.ErrBegun) || errors.Is(err, store.ErrParameters) ||
		errors.Is(err, store.ErrNoOwn) || errors.Is(err, store.ErrOtherSequence)
}

// unseenTable is the error for a missing table whose counter has no row either. Its
// text mentions only the table, since a misspelt table needs no row.
type unseenTable struct{ unseen, row error }

func (e *unseenTable) Error() string { return e.unseen.Error() }

func (e *unseenTable) Unwrap() []error { return []error{e.row, e.unseen} }
