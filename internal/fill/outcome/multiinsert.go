package outcome

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// together is the outcome of an INSERT that is not alone in its text.
func (e ending) together(in *plans.Insert) execution.Outcome {
	p, err := e.x.Plan, e.err
	switch {
	case err != nil && p.Statements == 1 && p.Dialect.AtomicStatements && sqlcode.Answered(err):
		return execution.OutcomeNotStored
	case err != nil, p.Statements > 1 && p.Undoes():
		return execution.OutcomeUnknown
	}
	if in.Branched {
		return execution.OutcomeUnknown
	}
	if in.Upsert.Conflict != plans.ConflictError || p.Statements > 1 && p.MayConflict() {
		return execution.OutcomeUnknown
	}
	return execution.OutcomeStored
}

// noteTogether notes the outcomes of the INSERTs of a text that has run to its end, or
// has failed.
func (e ending) noteTogether(keys []execution.RecordedKey) {
	x := e.x
	i := 0
	for _, p := range bind.FilledPlaces(x.Plan, x.Holes) {
		if in := &x.Plan.Inserts[p.Insert]; !in.Explained {
			keys[i].Outcome = e.together(in)
			i++
		}
	}
	// The keys of queries follow. Nothing is known of their rows, but that a statement
	// which has failed stored none.
	for ; i < len(keys); i++ {
		if o := e.together(&x.Plan.Inserts[0]); o == execution.OutcomeNotStored {
			keys[i].Outcome = o
		}
	}
}
