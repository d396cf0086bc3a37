package keys

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/keysource"
)

// doubted is a column in which a transaction has found a key in use, perhaps in a
// row of its own.
type doubted struct {
	column store.Column
	below  int64 // as in store.Sequence
	skip   store.Range
	remedy keysource.Remedy
}

// errInUse is returned for a number that is not above the greatest key in the table.
var errInUse = fmt.Errorf("%w: keys that the transaction sees are greater than the next one: raise next_value above them, or let it advance", keysource.ErrStoreBehind)

// reserve returns the first of n consecutive integers of a counter. o and g are of one
// connection, and nil without one.
func (o *connCounters) reserve(ctx context.Context, g *Session, c *counter, n int64) (int64, error) {
	if o != nil && len(o.doubts) > 0 {
		if d, ok := o.doubts[c]; ok {
			return o.reserveAbove(ctx, g, c, n, d)
		}
	}
	return c.numbers.reserve(ctx, g, n)
}

// reserveAbove reserves numbers above the greatest key that the transaction sees. If the
// numbering is behind that key, the policy's on_behind says what happens.
func (o *connCounters) reserveAbove(ctx context.Context, g *Session, c *counter, n int64, d doubted) (int64, error) {
	column := keycolumn.Of(store.Within(g.tables.AnyEngine().Dialect, g.Own()), d.column)
	end := c.keysEnd(d.below)
	greatest, err := column.MaxKeyUpTo(ctx, end, d.skip)
	if err != nil {
		return 0, err
	}
	first, err := c.numbers.reserve(ctx, g, n)
	if now := c.keysEnd(d.below); err == nil && now != end {
		greatest, err = column.MaxKeyUpTo(ctx, now, d.skip) // another state begins there by now
	}
	if err == nil && first <= greatest && d.remedy == keysource.RemedyAdvance && greatest < greatestNumber {
		if err = c.Follower().Advance(ctx, g, greatest+1); err == nil {
			first, err = c.numbers.reserve(ctx, g, n)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case first <= greatest && d.remedy != keysource.RemedyWarn && c.raise != nil:
		return 0, fmt.Errorf("%w: keys that the transaction sees are greater than the next one: run %s", keysource.ErrStoreBehind, c.raise(greatest+1))
	case first <= greatest && d.remedy != keysource.RemedyWarn:
		return 0, errInUse
	}
	if g.Tx == session.Outside {
		delete(o.doubts, c) // else a rollback to a savepoint may undo the advance
	}
	return first, nil
}

// keysEnd returns from where on keys are not the counter's, 0 for nowhere. below is its
// policy's.
func (c *counter) keysEnd(below int64) int64 {
	if c.ends == nil {
		return below
	}
	if end := c.ends.KeysEnd(); end > 0 {
		return end
	}
	return below
}
