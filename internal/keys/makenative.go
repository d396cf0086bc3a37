package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/native"
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
	st, err := dr.tables.stores.get("")
	if err != nil {
		return nil, err
	}
	c := &counter{unseen: facts.unseen}
	row := dr.key.row("", facts, columns)
	if !dr.key.Rule.Shared {
		c.home = facts.Columns[dr.index].home()
	}
	named := native.Sequence{Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive}
	engine := &engineSequence{native: named, own: native.New(st, named)}
	c.bound, c.raise = newBound(row, nil), engine.own.Raise
	if c.bound != nil {
		c.bound.engine = engine
	}
	c.claimer = func(ctx context.Context, g *Session) (claim binding.Claim, err error) {
		err = engine.ask(ctx, g, func(ctx context.Context, at *native.Reserver) error {
			claim.State, err = at.State(ctx)
			return err
		})
		return claim, err
	}
	o := src.SequenceOptions()
	o.Reserver, o.MaxKey, o.Max = watchedNumbers{numberState: engine.own, watch: dr.watch("")}, engine.own.MaxKey, dr.key.Limit()
	o.EndRemedy = "a greater MAXVALUE where the sequence ends before that, or a wider column and max_bits"
	o.Warn, o.Raise = dr.warnOfBehind(engine.own), c.raise
	c.warnAt, c.remedy = warnAt(o.Max), o.EndRemedy
	if engine.source, err = keysource.NewSequence(o, dr.env()); err != nil {
		return nil, err
	}
	c.numbers = engine
	return c, nil
}
