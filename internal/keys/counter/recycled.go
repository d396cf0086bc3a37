package counter

import (
	"crypto/rand"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// newRecycled gives a counter numbers from series (runs of integers that processes
// lease), which the given row counts. src is the source, with the remedy that
// holds for this table.
func (dr Making) newRecycled(src policy.Source, row sequence.Sequence, ranked bool, schema string, c *Counter) (*Counter, error) {
	own := series.Options{
		Sequence: row, Size: src.Series, Lease: src.Lease,
		// Each source has an owner's name of its own: two sources with one owner would share
		// a series of integers.
		Owner: owner() + "/" + rand.Text(),
	}
	o, made := RecycledOptions(src), new(numbering.Recycled)
	var tables *store.Store
	if dr.Tables.StatesOnConnection() && src.Store == "" {
		if numbering.IsElsewhere(dr.On, schema) {
			return nil, numbering.ErrElsewhere
		}
		o.OnConnection = true
		d := dr.Tables.Candidates[0].Dialect
		tables = store.On(d, nil)
		made.Row = &numbering.ConnRow{Dialect: d, Ranked: ranked, Series: series.New(tables, own), Leases: dr.Leases(src.Series, src.Lease)}
		c.Bound = newBoundOn(row, made.Row)
	} else {
		st, err := dr.storeOf(src, &own.Sequence, c)
		if err != nil {
			return nil, err
		}
		tables = statestore.TablesOf(st)
		rows := st.Series(own)
		o.Store = rows
		if ranked {
			o.MaxKey, made.Columns = rows.MaxKey, row.Columns
		}
		c.Bound = newBound(row, rows.Bind)
	}
	if tables != nil {
		o.Raise = func(s keysource.Series, to int64) string { return series.RaiseText(tables, row.Name, s, to) }
	}
	source, err := counting.NewRecycled(o, dr.Env())
	if err != nil {
		return nil, err
	}
	made.Source, c.Numbers = source, made
	return c, nil
}

// storeOf returns the store of a source that does not count on the statements'
// connections, and sets the fields of row and c that depend on the store.
func (dr Making) storeOf(src policy.Source, row *sequence.Sequence, c *Counter) (statestore.StateStore, error) {
	st, err := dr.States(src)
	if err != nil {
		return nil, err
	}
	if src.Store != "" && !dr.Tables.StatesOnConnection() {
		if row.At, err = dr.Tables.Stores.Get(""); err != nil {
			return nil, err
		}
		row.Claim.ClaimsAt, row.Claim.ClaimedAs = row.At, table.StateElsewhere(row.Name, src.Store)
		c.Use = &UsedState{row: *row}
	}
	row.EnsureSchema, row.Apart = src.EnsureSchema, src.Store != "" && dr.Tables.StatesOnConnection()
	return st, nil
}
