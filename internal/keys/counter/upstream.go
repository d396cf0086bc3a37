package counter

import (
	"slices"

	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// upstream returns the fetcher of a row's blocks from the store that the source names as its
// upstream, nil for a source without one. The state there has the name of the row. The row's
// own database decides where the row begins: the upstream store sees no column.
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
		// Each shard has its tables under other names.
		Name: row.Name, Columns: slices.Clone(row.Columns), Shared: true, Bounds: sequence.Bounds{Max: row.Bounds.Max},
		Exclusive: row.Exclusive, EnsureSchema: src.EnsureSchema, Apart: true,
	}
	for i := range there.Columns {
		there.Columns[i].Unranked = true
	}
	env := dr.Env()
	env.Waited = nil // the source of the row notes the wait of an INSERT
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
