package counter

import (
	"slices"

	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// upstream returns what fetches the blocks of a row from the store that the source names as
// its upstream, nil for a source without one. The state there has the name of the row. Its
// store sees no column: where the row begins, the row's own database knows.
func (dr Making) upstream(src policy.Source, row sequence.Sequence) (*upstream.Upstream, error) {
	if src.Upstream == "" {
		return nil, nil
	}
	central := src
	central.Store = src.Upstream
	st, err := dr.States(central)
	if err != nil {
		return nil, err
	}
	there := sequence.Sequence{
		// The tables of shards are found under other names each.
		Name: row.Name, Columns: slices.Clone(row.Columns), Shared: true, Bounds: sequence.Bounds{Max: row.Bounds.Max},
		Exclusive: row.Exclusive, EnsureSchema: src.EnsureSchema, Apart: true,
	}
	for i := range there.Columns {
		there.Columns[i].Unranked = true
	}
	env := dr.Env()
	env.Waited = nil // who waits is an INSERT, which waits for its own database
	return upstream.New(upstream.Options{
		Store: src.Upstream, Block: src.UpstreamBlock, Lasts: src.UpstreamLasts, Max: row.Bounds.Max,
		OnStoreRollback: src.OnStoreRollback, Env: env,
		Open: func(start int64, isNew bool) (keysource.Reserver, error) {
			q := there
			q.Made.Start, q.Create = start, row.Create && isNew
			return st.Numbers(q)
		},
	})
}
