package keys

import (
	"crypto/rand"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// newRecycled attaches series to a counter, whose numbers come from the row. src is the
// source with the remedy that it has for this table.
func (dr making) newRecycled(src policy.Source, row sequence.Sequence, ranked bool, schema string, c *counter) (*counter, error) {
	own := series.Options{
		Sequence: row, Size: src.Series, Lease: src.Lease,
		// Another one for each source: two that had one would share a series.
		Owner: owner() + "/" + rand.Text(),
	}
	o, made := src.RecycledOptions(), new(recycled)
	if dr.tables.StatesOnConnection() && src.Store == "" {
		if isElsewhere(dr.on, schema) {
			return nil, errElsewhere
		}
		o.OnConnection = true
		d := dr.tables.Candidates[0].Dialect
		made.row = &connRow{dialect: d, ranked: ranked, series: series.New(store.On(d, nil), own), leases: dr.leases(src.Series, src.Lease)}
		c.bound = newBoundOn(row, made.row)
	} else {
		st, err := dr.storeOf(src, &own.Sequence, c)
		if err != nil {
			return nil, err
		}
		rows := st.series(own)
		o.Store = rows
		if ranked {
			o.MaxKey, made.columns = rows.MaxKey, row.Columns
		}
		c.bound = newBound(row, rows.Bind)
	}
	source, err := keysource.NewRecycled(o, dr.env())
	if err != nil {
		return nil, err
	}
	made.source, c.numbers = source, made
	return c, nil
}

// storeOf returns the store of a source that does not count on the statements'
// connections, and completes its row and its counter.
func (dr making) storeOf(src policy.Source, row *sequence.Sequence, c *counter) (stateStore, error) {
	st, err := dr.states(src)
	if err != nil {
		return nil, err
	}
	if src.Store != "" && !dr.tables.StatesOnConnection() {
		if row.At, err = dr.tables.stores.get(""); err != nil {
			return nil, err
		}
		row.ClaimsAt, row.ClaimedAs = row.At, stateElsewhere(row.Name, src.Store)
		c.use = &usedState{row: *row}
	}
	row.EnsureSchema, row.Apart = src.EnsureSchema, src.Store != "" && dr.tables.StatesOnConnection()
	return st, nil
}
