package counter

import (
	"slices"

	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// upstream returns what fetches the blocks of a row (ranges of integers) from the store
// that the source names as its upstream; it returns nil for a source without one. The
// stored counter in that store has the name of the row. The row's own database decides
// where the row begins, since the upstream store sees no column.
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
		// The upstream row is shared, and not bound to one table, since the databases of
		// the other shards may have other names for the tables.
		Name: row.Name, Columns: slices.Clone(row.Columns), Shared: true, Bounds: sequence.Bounds{Max: row.Bounds.Max},
		Exclusive: row.Exclusive, EnsureSchema: src.EnsureSchema, Apart: true,
	}
	for i := range there.Columns {
		there.Columns[i].Unranked = true
	}
	env := dr.Env()
	env.Waited = nil // the source of the row itself measures how long an INSERT waits
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
