package numbering

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// The row of a sequence may leave the integers from some number on to another stored
// counter. Keys from there on do not belong to the sequence. No other numbers have such an
// end.

// KnownKeysEnd returns the number from which on keys belong to another stored counter, as
// the row said when it was last read; 0 if there is none.
func KnownKeysEnd(n Numbers) int64 {
	switch n := n.(type) {
	case *JoinedRow:
		if n.home != nil {
			return n.Rows.KeysEnd()
		}
	case *BlockSequence:
		if n.Ends != nil {
			return n.Ends.KeysEnd()
		}
	}
	return 0
}

// KeysEnd returns the number from which on keys belong to another stored counter, as the
// row says now; 0 if there is none.
func KeysEnd(ctx context.Context, n Numbers, g *relation.Session) (int64, error) {
	switch n := n.(type) {
	case *JoinedRow:
		rows, err := n.within(ctx, g)
		if err != nil {
			return 0, err
		}
		return rows.KeysEndNow(ctx)
	case *BlockSequence:
		switch {
		case n.Row != nil:
			return n.Row.keysEnd(ctx, g)
		case n.Ends != nil:
			return n.Ends.KeysEndNow(ctx)
		}
	}
	return 0, nil
}

// keysEnd returns the number from which on keys belong to another stored counter, as
// the row says now; 0 if there is none.
func (r *ConnRow) keysEnd(ctx context.Context, g *relation.Session) (int64, error) {
	st := store.On(r.Dialect, g.Own())
	if g.Tx != session.Outside {
		st = store.Within(r.Dialect, g.Own())
	}
	return r.Rows.At(st).KeysEndNow(ctx)
}
