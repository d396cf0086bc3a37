package plans

import (
	"cmp"
	"slices"
)

// A text may prove something about itself if no earlier statement can: a key stands
// inside an expression, which is the key if that is true, and an error otherwise. The
// first key of each draw proves that a transaction is open, and the first key of each
// INSERT what the table's name means.

// ProofTexts is what a plan needs to write such texts.
type ProofTexts struct {
	Edits          []Edit // the plan's edits, and the caller's own placeholders
	Bound, Session LazyText
}

// Proves reports whether the plan has texts with proofs: an INSERT has keys that belong
// to its transaction ([Key].Joined) and can prove that one is open
// ([dialect.Transactions].KeyOpen), or keys with a [Key].Proof.
func (pl *Plan) Proves() bool { return pl.Proof != nil }

// ProvesOpen reports whether the texts with proofs prove that a transaction is open.
func (pl *Plan) ProvesOpen() bool {
	return pl.Proof != nil && slices.ContainsFunc(pl.Draws, pl.DrawProvesOpen)
}

// ProvesName reports whether the texts with proofs prove what the name of a table means.
func (pl *Plan) ProvesName() bool {
	return pl.Proof != nil && slices.ContainsFunc(pl.Draws, pl.DrawProvesName)
}

// newProof returns what the plan needs for its proofs, nil if it has none. own are the
// edits at the caller's placeholders, which the other texts do not need.
func (pl *Plan) newProof(own []Edit) *ProofTexts {
	if pl.Load || pl.Changes.Spelling.Renumbers || !slices.ContainsFunc(pl.Draws, pl.proves) {
		return nil
	}
	edits := slices.Concat(pl.Changes.Edits, own)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	return &ProofTexts{Edits: edits}
}

// proves reports whether a key of a draw proves something.
func (pl *Plan) proves(d Draw) bool { return pl.DrawProvesOpen(d) || pl.DrawProvesName(d) }

// DrawProvesOpen reports whether the keys of a draw belong to the transaction of an
// INSERT that runs, and can prove that one is open.
func (pl *Plan) DrawProvesOpen(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	return pl.Dialect.Transactions.KeyOpen != "" && in.Target.Keys[d.Key].Joined && !in.Explained
}

// DrawProvesName reports whether a key of a draw can prove what the name of its table
// means. Keys that are made of several values for the rows of a query cannot.
func (pl *Plan) DrawProvesName(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	key := &in.Target.Keys[d.Key]
	return key.Proof.Open != "" && !in.Explained && (in.Query == nil || key.Counted)
}
