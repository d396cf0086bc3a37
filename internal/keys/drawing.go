package keys

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Drawing draws keys for a key column, on a connection.
type Drawing struct {
	Site
	sources *Sources
	own     *connCounters // of the connection; nil without one
}

// DrawingFor returns the drawing for the key column of index i of a table, without a
// connection: the state of the column's source has connections of its own.
func (s *Sources) DrawingFor(t *Table, i int) Drawing {
	return Drawing{Site: Site{tables: s.Tables, table: t, index: i, key: &t.KeyColumns[i]}, sources: s}
}

// Append appends n keys to room.
func (dr Drawing) Append(ctx context.Context, room []driver.Value, n int) ([]driver.Value, error) {
	if dr.key.Source != nil {
		return dr.key.Source.Append(ctx, room, keysource.Request{N: n, Layout: dr.key.Layout})
	}
	if dr.key.shape != nil {
		return dr.mapped(ctx, n)
	}
	first, err := dr.Reserve(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	return keysource.AppendIntegers(room, first, n, dr.key.Layout), nil
}

// Reserve returns the first of n consecutive integers.
func (dr Drawing) Reserve(ctx context.Context, n int64) (int64, error) {
	if dr.key.InTransaction && dr.key.Rule.Source.Kind == policy.KindMaxPlusOne {
		return dr.afterMax(ctx, n)
	}
	_, first, err := dr.numbers(ctx, n)
	return first, err
}

// numbers returns the first of n consecutive numbers of a counter, and the counter.
func (dr Drawing) numbers(ctx context.Context, n int64) (*counter, int64, error) {
	var locked session.Again
	for again := false; ; again = true {
		c, err := dr.Counter(ctx)
		switch {
		case err == errOwnLocks && !again:
			continue
		case err != nil && dr.on != nil && session.ReservesAgain(ctx, &dr.on.Conn, &locked, err):
			continue
		case err != nil:
			return nil, 0, err
		}
		if dr.own != nil && dr.own.renamed {
			// The transaction alone sees what its table holds now.
			dr.doubt(ctx, c)
		}
		first, err := dr.own.reserve(ctx, dr.on, c, n)
		switch {
		case err == errOwnLocks && !again:
			continue
		case err != nil && dr.on != nil && session.ReservesAgain(ctx, &dr.on.Conn, &locked, err):
			continue
		case err == nil:
			c.use.note(ctx)
			if c.warnAt > 0 && first >= c.warnAt {
				dr.warnOfEnd(ctx, c)
			}
			return c, first, nil
		case unusable(err):
			// The next statement may be about another table of that name.
			if err := c.forget(ctx); err != nil {
				return nil, 0, err
			}
			dr.sources.found.drop(dr.key, c)
		case errors.Is(err, keysource.ErrClosed) && !again:
			// It was forgotten for another table's sake.
			dr.sources.found.drop(dr.key, c)
			continue
		case c.unseen != nil && (errors.Is(err, store.ErrNoRow) || errors.Is(err, store.ErrStart)):
			err = &unseenTable{unseen: c.unseen, row: err}
		}
		return nil, 0, err
	}
}

// unusable reports whether an error says that the row of a state belongs to another
// table or another source.
func unusable(err error) bool {
	return errors.Is(err, store.ErrBound) || errors.Is(err, store.ErrTaken) || errors.Is(err, store.ErrStartAt) || errors.Is(err, store.ErrBegun) || errors.Is(err, store.ErrParameters) ||
		errors.Is(err, store.ErrNoOwn) || errors.Is(err, store.ErrOtherSequence)
}

// unseenTable is the error of a table that is not there, whose numbering has no row
// either. It tells the first alone, since a name that is misspelt needs no row.
type unseenTable struct{ unseen, row error }

func (e *unseenTable) Error() string { return e.unseen.Error() }

func (e *unseenTable) Unwrap() []error { return []error{e.row, e.unseen} }
