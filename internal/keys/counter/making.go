package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Making makes the counter of a key column, for the stored counter whose name is State.
type Making struct {
	relation.Site
	State   string
	Flakes  *numbering.SharedSnowflakes
	StandIn func(state string) keysource.Reserver // replaces the store; nil outside tests
}

// NewCounter makes the counter of the column: it opens the counter's row in the store
// and claims the column.
func (dr Making) NewCounter(ctx context.Context) (*Counter, error) {
	switch {
	case dr.Tables.Detached:
		return dr.newStandIn()
	case table.OfWorkers(dr.Key.Rule.Source):
		return dr.newSnowflake(ctx)
	case dr.Key.Rule.Source.Kind == policy.KindNative:
		return dr.newNative(ctx)
	}
	return dr.newSequence(ctx)
}
