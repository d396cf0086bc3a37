package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// claimer returns the claim to write for a counter; the caller sets Column.
type claimer func(ctx context.Context, g *Session) (binding.Claim, error)

// claimerOf returns the claimer of a source with a row in a store, and nil for a row that
// names its columns itself.
func claimerOf(src policy.Source, row *sequence.Sequence) claimer {
	state := ""
	switch {
	case inStore(src):
		state = stateElsewhere(row.Name, src.Store)
	case row.Table != nil, row.Procedure != "" && row.Procedure != store.ReserveProcedure:
		state = row.ForeignState()
	default:
		return nil
	}
	return claims(binding.Claim{State: state})
}

// claims returns a claimer that always returns c.
func claims(c binding.Claim) claimer {
	return func(context.Context, *Session) (binding.Claim, error) { return c, nil }
}
