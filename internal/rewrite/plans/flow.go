package plans

import "github.com/keyfill/keyfill/rewrite"

// Flow says which statements of the text run, as far as the text was read.
type Flow struct {
	// SeveralReason is the reason to refuse an INSERT that is not the only statement, after
	// what was read of the text.
	SeveralReason rewrite.Reason

	Unsettled  bool // the rest of the text may be read differently, or may not run
	Branched   bool // the rest of the text may not run
	Procedural bool // the rest of the text is in a block of PL/SQL
	MayRepeat  bool // statements may run more than once
	AfterBody  int  // one more than the number of INSERTs before the end of the last routine's body; 0 before any routine
	Explained  bool // an EXPLAIN only explains the statement, which does not run
}

// uncertain returns why an INSERT that may not run, or may run more than once, cannot be
// filled; empty if every INSERT can be. Numbers without gaps, numbers within a parent and greatest keys plus one
// are drawn only for a row that is stored. PL/SQL binds a name once, however often it is
// used: PL/SQL Language Reference 23ai, "Repeated Placeholder Names in Dynamic SQL
// Statements".
func (p *Draft) uncertain() rewrite.Reason {
	switch {
	case p.Flow.MayRepeat:
		return rewrite.ErrBlock
	case !p.Flow.Branched:
		return ""
	}
	for i := range p.Slots {
		s := &p.Slots[i]
		if in := &p.Inserts[s.Insert]; in.Branched && (in.Target.Keys[s.Key].Joined || in.Target.Keys[s.Key].Scope != nil && !in.Target.Keys[s.Key].FromRow) {
			return rewrite.ErrBlock
		}
	}
	if p.Flow.Procedural && p.Params.Count > 0 {
		if u := p.Uses(); u.Names < p.Params.Count {
			return rewrite.ErrBlock
		}
	}
	return ""
}
