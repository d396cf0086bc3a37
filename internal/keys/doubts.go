package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// doubt makes the next draw on the connection compare its number with the greatest key
// that the transaction sees, which other connections may not see. A row that is counted
// on the connection itself is compared there anyway.
func (dr Drawing) doubt(ctx context.Context, c *counter) {
	if dr.on == nil || dr.on.Tx == session.Outside {
		return
	}
	f, err := dr.tables.Facts(ctx, dr.on, dr.table)
	if err != nil {
		f = dr.on.GateOf(dr.table).Facts.Load() // an aborted transaction answers nothing
	}
	if f == nil || !f.Columns[dr.index].ranked || c.mapping != nil {
		return
	}
	if numbers := c.Follower(); numbers == nil || numbers.IsOnConnection() || dr.key.Rule.Source.Kind == policy.KindRecycled {
		return
	}
	if dr.own.doubts == nil {
		dr.own.doubts = map[*counter]doubted{}
	}
	src := dr.key.Rule.Source
	dr.own.doubts[c] = doubted{
		column: f.Columns[dr.index].StoreColumn(dr.table.Rule, dr.key, false), below: src.Below, skip: skipped(src),
		remedy: onBehind(src, dr.tables.AnyEngine().Dialect, f.Columns[dr.index].numbers),
	}
}

// DropBlock gives up what is reserved for a key column, counts and reports it.
func (dr Drawing) DropBlock(ctx context.Context) {
	if dr.key.Rule.Source.Kind != policy.KindMaxPlusOne || !dr.key.InTransaction {
		c, err := dr.Counter(ctx)
		if err != nil {
			return // the database was closed
		}
		c.numbers.suspect()
		dr.doubt(ctx, c)
	}
	dr.noteSuspect(ctx)
}
