package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// doubt makes the next draw on the connection compare its number with the greatest key
// that the transaction sees, which other connections may not see. A row that is changed
// on the connection itself is compared there anyway.
func (dr Drawing) doubt(ctx context.Context, c *counter.Counter) {
	if dr.On == nil || dr.On.Tx == session.Outside {
		return
	}
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	if err != nil {
		f = dr.On.GateOf(dr.Table).Facts.Load() // in an aborted transaction the engine answers no query, so the last known facts are used
	}
	if f == nil || !f.Columns[dr.Index].Ranked || c.Mapping != nil {
		return
	}
	if numbers := c.Follower(); numbers == nil || numbers.IsOnConnection() || dr.Key.Rule.Source.Kind == policy.KindRecycled {
		return
	}
	if dr.own.Doubts == nil {
		dr.own.Doubts = map[*counter.Counter]counter.Doubted{}
	}
	src := dr.Key.Rule.Source
	dr.own.Doubts[c] = counter.Doubted{
		Column: f.Columns[dr.Index].StoreColumn(dr.Table.Rule, dr.Key, false), Bounds: dr.Key.Bounds(),
		Remedy: table.OnBehind(src, dr.Tables.AnyEngine().Dialect, f.Columns[dr.Index].Numbers),
	}
}

// DropBlock gives up the numbers that are reserved for a key column, and counts and
// logs that.
func (dr Drawing) DropBlock(ctx context.Context) {
	if dr.Key.Rule.Source.Kind != policy.KindMaxPlusOne || !dr.Key.InTransaction {
		c, err := dr.Counter(ctx)
		if err != nil {
			return // the database was closed
		}
		c.Numbers.Suspect()
		dr.doubt(ctx, c)
	}
	dr.NoteSuspect(ctx)
}
