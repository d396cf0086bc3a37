package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// newJoined gives a counter numbers from a row that is changed in the transactions of
// INSERTs, and returns these numbers.
func (dr Making) newJoined(ctx context.Context, row sequence.Sequence, ranked bool, schema string, c *Counter) (*numbering.JoinedRow, error) {
	d := dr.Tables.AnyEngine().Dialect
	row.OnBehind = dr.Key.Rule.Source.OnBehind
	onBack := dr.Key.Rule.Source.OnStoreRollback
	if !ranked {
		row.OnBehind = keysource.RemedyWarn // the row is not compared with a greatest key: see newSequence
	}
	if dr.Tables.StatesOnConnection() {
		if numbering.IsElsewhere(dr.On, schema) {
			return nil, numbering.ErrElsewhere
		}
		joined := numbering.NewJoinedRow(dr.Tables, row, nil)
		joined.Ranked, joined.OnBack, joined.Ensures = ranked, onBack, dr.Key.Rule.Source.EnsureSchema
		c.Numbers = joined
		c.Bound = newBoundOn(row, &numbering.ConnRow{Dialect: d, Ranked: ranked, Rows: joined.Rows})
		return joined, nil
	}
	home, err := dr.Tables.Stores.Get("")
	if err != nil {
		return nil, err
	}
	row.EnsureSchema = dr.Key.Rule.Source.EnsureSchema
	if dr.On.IsAltered() {
		// This connection sees in the table the numbers that its own transaction has
		// stored; other connections do not yet see them in the row. So the row is compared
		// with the table here.
		if row, err = dr.On.OpenHere(ctx, statestore.TableStates{At: home}, row, row.OnBehind, ranked && !dr.On.HasDrawn()); err != nil {
			return nil, err
		}
	}
	joined := numbering.NewJoinedRow(dr.Tables, row, home)
	joined.Ranked, joined.OnBack, joined.Ensures = ranked, onBack, row.EnsureSchema
	c.Numbers = joined
	c.Bound = newBound(row, reserver.New(home, row).Bind)
	return joined, nil
}
