package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// newJoined attaches a row to a counter, whose numbers belong to transactions, and
// returns it.
func (dr making) newJoined(ctx context.Context, row sequence.Sequence, ranked bool, schema string, c *counter) (*joinedRow, error) {
	d := dr.tables.AnyEngine().Dialect
	row.OnBehind = dr.key.Rule.Source.OnBehind
	onBack := dr.key.Rule.Source.OnStoreRollback
	if !ranked {
		row.OnBehind = keysource.RemedyWarn // see newSequence
	}
	if dr.tables.StatesOnConnection() {
		if isElsewhere(dr.on, schema) {
			return nil, errElsewhere
		}
		joined := newJoinedRow(dr.tables, row, nil)
		joined.ranked, joined.onBack, joined.ensures = ranked, onBack, dr.key.Rule.Source.EnsureSchema
		c.numbers = joined
		c.bound = newBoundOn(row, &connRow{dialect: d, ranked: ranked, rows: joined.rows})
		return joined, nil
	}
	home, err := dr.tables.stores.get("")
	if err != nil {
		return nil, err
	}
	row.EnsureSchema = dr.key.Rule.Source.EnsureSchema
	if dr.on.isAltered() {
		// Numbers that the transaction itself has drawn are in the table, as this
		// connection sees it, and not yet in the row, as others do.
		if row, err = dr.on.openHere(ctx, tableStates{at: home}, row, row.OnBehind, ranked && !dr.on.hasDrawn()); err != nil {
			return nil, err
		}
	}
	joined := newJoinedRow(dr.tables, row, home)
	joined.ranked, joined.onBack, joined.ensures = ranked, onBack, row.EnsureSchema
	c.numbers, c.ends = joined, joined.rows
	c.bound = newBound(row, reserver.New(home, row).Bind)
	return joined, nil
}
