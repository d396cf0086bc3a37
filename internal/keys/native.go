package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// newNative returns the counter of a sequence of the engine, which other programs
// may draw from too. It has no row of ours.
func (dr making) newNative(ctx context.Context) (*counter, error) {
	src := dr.key.Rule.Source
	facts, columns, err := dr.columns(ctx)
	if err != nil {
		return nil, err
	}
	st, err := dr.db.sources.stores.get("")
	if err != nil {
		return nil, err
	}
	c := &counter{unseen: facts.unseen}
	row := dr.key.row("", facts, columns)
	if !dr.key.Rule.Shared {
		c.home = facts.Columns[dr.index].home()
	}
	native := st.Native(store.Native{
		Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive,
	})
	c.bound, c.claimer = newBound(row, native.Bind), func(ctx context.Context) (store.Claim, error) {
		state, err := native.State(ctx)
		return store.Claim{State: state}, err
	}
	o := src.SequenceOptions()
	o.Reserver, o.MaxKey, o.Max = watchedNumbers{native, dr.watch("")}, native.MaxKey, dr.key.Limit()
	o.EndRemedy = "a greater MAXVALUE where the sequence ends before that, or a wider column and max_bits"
	c.warnAt, c.remedy = warnAt(o.Max), o.EndRemedy
	source, err := keysource.NewSequence(o, dr.env())
	if err != nil {
		return nil, err
	}
	c.numbers = &sequence{source: source}
	return c, nil
}
