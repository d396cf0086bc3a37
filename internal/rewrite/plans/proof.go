package plans

import (
	"cmp"
	"slices"
)

// Some facts can only be proven by the INSERT itself. Its key then stands inside an
// expression, whose value is the key if the fact is true, and an error otherwise. The first
// key of each draw (call to a key source) proves that a transaction is open, and the first
// key of each INSERT proves which table the name means.

// ProofTexts holds what a plan needs to write the query with keys that prove facts, such as
// an open transaction: see [Plan.Proves].
type ProofTexts struct {
	Edits          []Edit // the edits of the plan, and edits at the caller's own placeholders for keys
	Bound, Session LazyText
}

// Proves reports whether the plan has texts in which keys prove facts: an INSERT has keys
// that belong to its transaction ([Key].Joined) and can prove that a transaction is open
// ([dialect.Transactions].KeyOpen), or keys with a [Key].Proof.
func (pl *Plan) Proves() bool { return pl.Proof != nil }

// ProvesOpen reports whether some key of the plan can prove that a transaction is open.
func (pl *Plan) ProvesOpen() bool {
	return pl.Proof != nil && slices.ContainsFunc(pl.Draws, pl.DrawProvesOpen)
}

// ProvesName reports whether some key of the plan can prove which table a name means.
func (pl *Plan) ProvesName() bool {
	return pl.Proof != nil && slices.ContainsFunc(pl.Draws, pl.DrawProvesName)
}

// newProof returns what the plan needs to write the query with keys that prove facts; nil
// if no key does. own are the edits at the caller's placeholders, which only such a text
// needs.
func (pl *Plan) newProof(own []Edit) *ProofTexts {
	if pl.Load || pl.Changes.Spelling.Renumbers || !slices.ContainsFunc(pl.Draws, pl.proves) {
		return nil
	}
	edits := slices.Concat(pl.Changes.Edits, own)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	return &ProofTexts{Edits: edits}
}

// proves reports whether a key of the draw (a call to a key source) can prove that a
// transaction is open, or which table a name means.
func (pl *Plan) proves(d Draw) bool { return pl.DrawProvesOpen(d) || pl.DrawProvesName(d) }

// DrawProvesOpen reports whether the keys of a draw (a call to a key source) belong to the
// transaction of an INSERT that runs, and can prove that a transaction is open.
func (pl *Plan) DrawProvesOpen(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	return pl.Dialect.Transactions.KeyOpen != "" && in.Target.Keys[d.Key].Joined && !in.Explained
}

// DrawProvesName reports whether a key of the draw (a call to a key source) can prove which
// table the INSERT's name means. Keys that are made of several values, for the rows of a
// query, cannot.
func (pl *Plan) DrawProvesName(d Draw) bool {
	in := &pl.Inserts[d.Insert]
	key := &in.Target.Keys[d.Key]
	return key.Proof.Open != "" && !in.Explained && (in.Query == nil || key.Counted)
}
