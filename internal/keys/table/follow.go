package table

import (
	"cmp"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// MayFollow reports whether a source may be raised above the explicit keys of INSERTs
// although its follow_explicit is not set: see [FollowsUntold].
func MayFollow(src policy.Source, d *dialect.Dialect) bool {
	return FollowsUntold(src, d, src.Exclusive || isBesideCounter(src) || d.LastRowID)
}

// FollowsUntold reports whether a source is raised above the explicit keys of INSERTs
// although its follow_explicit is not set. numbers reports that the engine itself
// numbers a row of the column whose key is NULL.
//
// A program may remember a number after a rollback has returned it, and use it later as
// an explicit key. A rollback returns numbers if the row of the counter belongs to the
// transactions of the INSERTs, or is on the connection of each statement.
func FollowsUntold(src policy.Source, d *dialect.Dialect, numbers bool) bool {
	switch {
	case src.Kind != policy.KindSequence && src.Kind != policy.KindRecycled, src.Scope != nil, src.Period != policy.Period{}, src.Via == policy.ViaProcedure:
		return false
	case src.Transaction == policy.TransactionJoined:
		return true
	}
	return src.Table == nil && (numbers || d.OneWriter && src.Store == "")
}

// OnBehind returns what happens if the next number of a counter is not above its table's
// keys. The default is advance if the counter may be left below a key by a process that
// ends after an INSERT with an explicit key, and before the raise. If the raise is in the
// INSERT's own transaction, no process can end between the two.
func OnBehind(src policy.Source, d *dialect.Dialect, numbers bool) keysource.Remedy {
	if src.Transaction != policy.TransactionJoined && FollowsUntold(src, d, numbers) {
		return cmp.Or(src.OnBehind, keysource.RemedyAdvance)
	}
	return cmp.Or(src.OnBehind, keysource.RemedyError)
}
