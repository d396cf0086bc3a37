package keys

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// making makes the counter of a key column, for the state of a name.
type making struct {
	Site
	state   string
	flakes  *SharedSnowflakes
	standIn func(state string) keysource.Reserver // for the store; nil outside tests
}

func (dr making) newCounter(ctx context.Context) (*counter, error) {
	switch {
	case dr.tables.Detached:
		return dr.newStandIn()
	case ofWorkers(dr.key.Rule.Source):
		return dr.newSnowflake(ctx)
	case dr.key.Rule.Source.Kind == policy.KindNative:
		return dr.newNative(ctx)
	}
	return dr.newSequence(ctx)
}
