package counter

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// Doubted is a column in which a transaction has found that a key is in use, perhaps in
// one of its own rows.
type Doubted struct {
	Column store.Column
	Bounds sequence.Bounds
	Remedy keysource.Remedy
}

// errInUse is returned if a number is not above the greatest key in the table.
var errInUse = fmt.Errorf("%w: keys that the transaction sees are greater than the next one: raise next_value above them, or let it advance", keysource.ErrStoreBehind)

// ReserveDoubted returns the first of n consecutive integers of a counter. They are above
// the keys of the column that the transaction sees, if the counter is in o.Doubts (a key
// of it was found in use). o and g belong to the same connection.
func (o *ConnCounters) ReserveDoubted(ctx context.Context, g *relation.Session, c *Counter, n int64) (int64, error) {
	if d, ok := o.Doubts[c]; ok {
		return o.reserveAbove(ctx, g, c, n, d)
	}
	return c.Numbers.Reserve(ctx, g, n)
}

// reserveAbove reserves numbers and compares them with the greatest key that the
// transaction sees. If they are not above that key, the policy's on_behind decides.
func (o *ConnCounters) reserveAbove(ctx context.Context, g *relation.Session, c *Counter, n int64, d Doubted) (int64, error) {
	column := keycolumn.Of(store.Within(g.Tables.AnyEngine().Dialect, g.Own()), d.Column)
	end := c.keysEnd(d.Bounds)
	greatest, err := column.MaxKeyUpTo(ctx, end, d.Bounds.Skip)
	if err != nil {
		return 0, err
	}
	first, err := c.Numbers.Reserve(ctx, g, n)
	if now := c.keysEnd(d.Bounds); err == nil && now != end {
		greatest, err = column.MaxKeyUpTo(ctx, now, d.Bounds.Skip) // keys from the new end on belong to another stored counter
	}
	if err == nil && first <= greatest && d.Remedy == keysource.RemedyAdvance && greatest < table.GreatestNumber {
		if err = c.Follower().Advance(ctx, g, greatest+1); err == nil {
			first, err = c.Numbers.Reserve(ctx, g, n)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case first <= greatest && d.Remedy != keysource.RemedyWarn && c.raise != nil:
		return 0, fmt.Errorf("%w: keys that the transaction sees are greater than the next one: run %s", keysource.ErrStoreBehind, c.raise(greatest+1))
	case first <= greatest && d.Remedy != keysource.RemedyWarn:
		return 0, errInUse
	}
	if g.Tx == session.Outside {
		delete(o.Doubts, c) // no rollback to a savepoint can undo the advance, as it could inside a transaction
	}
	return first, nil
}

// keysEnd returns the number from which on keys do not belong to the counter, 0 if
// there is none. bounds are what the policy gives.
func (c *Counter) keysEnd(bounds sequence.Bounds) int64 {
	return bounds.KeysEnd(numbering.KnownKeysEnd(c.Numbers))
}
