package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// newNative returns the counter of a sequence of the engine, which other programs
// may draw from too. It has no row of ours.
func (db *Tables) newNative(ctx context.Context, g *Conn, t *Table, i int) (*counter, error) {
	k := &t.KeyColumns[i]
	src := k.Rule.Source
	facts, columns, err := db.columns(ctx, g, t, i)
	if err != nil {
		return nil, err
	}
	st, err := db.sources.stores.get("")
	if err != nil {
		return nil, err
	}
	c := &counter{unseen: facts.unseen}
	row := k.row("", facts, columns)
	if !k.Rule.Shared {
		c.home = facts.Columns[i].home()
	}
	native := st.Native(store.Native{
		Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive,
	})
	c.bound, c.claimer = newBound(row, native.Bind), func(ctx context.Context) (store.Claim, error) {
		state, err := native.State(ctx)
		return store.Claim{State: state}, err
	}
	o := src.SequenceOptions()
	o.Reserver, o.MaxKey, o.Max = native, native.MaxKey, k.Limit()
	o.EndRemedy = "a greater MAXVALUE where the sequence ends before that, or a wider column and max_bits"
	source, err := keysource.NewSequence(o, db.sources.env)
	if err != nil {
		return nil, err
	}
	c.numbers = &sequence{source: source}
	return c, nil
}
