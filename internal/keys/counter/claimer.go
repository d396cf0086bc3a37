package counter

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// Claimer returns the claim to write for a counter (a row that says which stored
// counter fills a column); the caller sets Column.
type Claimer func(ctx context.Context, g *relation.Session) (binding.Claim, error)

// claimerOf returns the Claimer of a source with a row in a store. It returns nil if
// the row names its columns itself, so that no claim (a row that says which source
// fills a column) is needed.
func claimerOf(src policy.Source, row *sequence.Sequence) Claimer {
	state := ""
	switch {
	case table.InStore(src):
		state = table.StateElsewhere(row.Name, src.Store)
	case row.Table != nil, row.Procedure != "" && row.Procedure != store.ReserveProcedure:
		state = row.ForeignState()
	default:
		return nil
	}
	return claims(binding.Claim{State: state})
}

// claims returns a Claimer that always returns c.
func claims(c binding.Claim) Claimer {
	return func(context.Context, *relation.Session) (binding.Claim, error) { return c, nil }
}
