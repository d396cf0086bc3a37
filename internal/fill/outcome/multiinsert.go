package outcome

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// together returns the outcome of an INSERT in a text with other INSERTs or statements.
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
	if in.Upsert.Conflict != plans.ConflictError || p.Statements > 1 && p.MayConflict {
		return execution.OutcomeUnknown
	}
	return execution.OutcomeStored
}

// noteTogether sets the outcomes of the keys of a text that has run to its end, or has
// failed.
func (e ending) noteTogether(keys []execution.RecordedKey) {
	x := e.x
	i := 0
	for _, p := range bind.FilledPlaces(x.Plan, x.Holes) {
		if in := &x.Plan.Inserts[p.Insert]; !in.Explained {
			keys[i].Outcome = e.together(in)
			i++
		}
	}
	// The keys for the rows of queries come last. Nothing is known about these rows,
	// except that a statement which has failed has stored none.
	for ; i < len(keys); i++ {
		if o := e.together(&x.Plan.Inserts[0]); o == execution.OutcomeNotStored {
			keys[i].Outcome = o
		}
	}
}
