package fill

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A text may hold several INSERTs, and other statements beside them, which all
// get their keys or none. What the driver answers is said of the last statement,
// or of the first, and counts rows of any of them.

// cautious returns the mode for a text: the most cautious of its tables' modes,
// since it goes out as it came or filled as a whole.
func cautious(tables *keys.Tables, p *rewrite.Plan) policy.Mode {
	mode := policy.ModeFill
	for i := range p.Inserts {
		mode = policy.MoreCautious(mode, tables.ModeOf(keys.TableOf(&p.Inserts[i])))
	}
	return mode
}

// together is the outcome of an INSERT that is not alone in its text.
func (e ending) together(in *rewrite.Insert) outcome {
	p, err := e.x.plan, e.err
	switch {
	case err != nil && p.Statements == 1 && p.Dialect().AtomicStatements && sqlcode.Answered(err):
		return outcomeNotStored
	case err != nil, p.Statements > 1 && p.Undoes():
		return outcomeUnknown
	}
	if in.Branched {
		return outcomeUnknown
	}
	if in.Conflict != rewrite.ConflictError || p.Statements > 1 && p.MayConflict() {
		return outcomeUnknown
	}
	return outcomeStored
}

// noteTogether notes the outcomes of the INSERTs of a text that has run to its end, or
// has failed.
func (e ending) noteTogether(keys []recordedKey) {
	x := e.x
	i := 0
	for _, p := range x.plan.Filled(x.holes) {
		if in := &x.plan.Inserts[p.Insert]; !in.Explained {
			keys[i].Outcome = e.together(in)
			i++
		}
	}
	// The keys of queries follow. Nothing is known of their rows, but that a statement
	// which has failed stored none.
	for ; i < len(keys); i++ {
		if o := e.together(&x.plan.Inserts[0]); o == outcomeNotStored {
			keys[i].Outcome = o
		}
	}
}
