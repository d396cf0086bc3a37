package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/native"
)

// newNative returns the counter for a sequence of the engine, from which other programs
// may draw too. The counter has no row in keyfill's tables.
func (dr Making) newNative(ctx context.Context) (*Counter, error) {
	src := dr.Key.Rule.Source
	facts, columns, err := dr.Columns(ctx)
	if err != nil {
		return nil, err
	}
	st, err := dr.Tables.Stores.Get("")
	if err != nil {
		return nil, err
	}
	c := &Counter{Unseen: facts.Unseen}
	row := dr.Key.Row("", facts, columns)
	if !dr.Key.Rule.Shared {
		c.Home = facts.Columns[dr.Index].Home()
	}
	named := native.Sequence{Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive}
	engine := &numbering.EngineSequence{Native: named, Own: native.New(st, named)}
	c.Bound, c.raise = newBound(row, nil), engine.Own.Raise
	if c.Bound != nil {
		c.Bound.Engine = engine
	}
	c.Claimer = func(ctx context.Context, g *relation.Session) (claim binding.Claim, err error) {
		err = engine.Ask(ctx, g, func(ctx context.Context, at *native.Reserver) error {
			claim.State, err = at.State(ctx)
			return err
		})
		return claim, err
	}
	o := SequenceOptions(src)
	o.Reserver, o.MaxKey, o.Max = statestore.WatchedNumbers{NumberState: engine.Own, Watch: dr.Watch("")}, engine.Own.MaxKey, dr.Key.Limit()
	o.EndRemedy = "a greater MAXVALUE where the sequence ends before that, or a wider column and max_bits"
	o.Warn, o.Raise = dr.WarnOfBehind(engine.Own), c.raise
	c.WarnAt, c.Remedy = table.WarnAt(o.Max), o.EndRemedy
	if engine.Source, err = counting.NewSequence(o, dr.Env()); err != nil {
		return nil, err
	}
	c.Numbers = engine
	return c, nil
}
