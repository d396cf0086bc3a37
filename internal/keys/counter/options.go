package counter

import (
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/policy"
)

// SequenceOptions returns the options of a source that counts as a sequence does: all
// that the policy says of them, but not the store, its Max and its MaxKey.
func SequenceOptions(s policy.Source) counting.SequenceOptions {
	return counting.SequenceOptions{
		Block:           s.Block,
		MinBlock:        s.MinBlock,
		MaxBlock:        s.MaxBlock,
		OnBehind:        s.OnBehind,
		OnStoreRollback: s.OnStoreRollback,
	}
}

// RecycledOptions returns the options of a recycled source: all that the policy says of
// them, but not the store and its MaxKey.
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
