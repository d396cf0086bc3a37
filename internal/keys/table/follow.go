package table

import (
	"cmp"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// MayFollow reports whether a source may follow the keys that INSERTs bring although its
// follow_explicit is not set: see [FollowsUntold].
func MayFollow(src policy.Source, d *dialect.Dialect) bool {
	return FollowsUntold(src, d, src.Exclusive || src.Below > 0 || d.LastRowID)
}

// FollowsUntold reports whether a source follows the keys that INSERTs bring although its
// follow_explicit is not set. numbers says that the engine numbers a row of the column whose
// key is NULL.
//
// A number that a rollback returns may come again as an explicit key, since a program has kept
// it. The row of a numbering goes back so if it belongs to the transactions of the INSERTs, or
// is on the connection of each statement.
func FollowsUntold(src policy.Source, d *dialect.Dialect, numbers bool) bool {
	switch {
	case src.Kind != policy.KindSequence && src.Kind != policy.KindRecycled, src.Scope != nil, src.Via == policy.ViaProcedure:
		return false
	case src.Transaction == policy.TransactionJoined:
		return true
	}
	return src.Table == nil && (numbers || d.OneWriter && src.Store == "")
}

// OnBehind returns the remedy for a numbering that stands below its table's keys. It is
// advance by default if a process that ends between an INSERT that brings a key and the raise
// may leave it so; a raise in the INSERT's own transaction stays with it.
func OnBehind(src policy.Source, d *dialect.Dialect, numbers bool) keysource.Remedy {
	if src.Transaction != policy.TransactionJoined && FollowsUntold(src, d, numbers) {
		return cmp.Or(src.OnBehind, keysource.RemedyAdvance)
	}
	return cmp.Or(src.OnBehind, keysource.RemedyError)
}
