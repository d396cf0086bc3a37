package counter

import (
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/policy"
)

// SequenceOptions returns the options that the policy sets for a source which counts as a
// sequence does. Store, Max and MaxKey are not set.
func SequenceOptions(s policy.Source) counting.SequenceOptions {
	return counting.SequenceOptions{
		Block:           s.Block,
		MinBlock:        s.MinBlock,
		MaxBlock:        s.MaxBlock,
		OnBehind:        s.OnBehind,
		OnStoreRollback: s.OnStoreRollback,
	}
}

// RecycledOptions returns the options that the policy sets for a recycled source. Store
// and MaxKey are not set.
func RecycledOptions(s policy.Source) counting.RecycledOptions {
	return counting.RecycledOptions{
		Size:            s.Series,
		Lease:           s.Lease,
		Block:           s.Block,
		MinBlock:        s.MinBlock,
		MaxBlock:        s.MaxBlock,
		OnBehind:        s.OnBehind,
		OnStoreRollback: s.OnStoreRollback,
	}
}
