package outcome

//row:ways | failed | `fill/outcome/ending.go`; with a duplicate key `fill/outcome/duplicatekey.go` gives up the block

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ending is how the text of an execution has ended: with err, or successfully if err is
// nil.
type ending struct {
	x   *execution.Execution
	err error
}

// outcome returns the outcome of the rows of the text's only INSERT, as far as the
// error shows it.
func (e ending) outcome() execution.Outcome {
	x := e.x
	in := &x.Plan.Inserts[0]
	switch {
	case x.Fate.Undone:
		return execution.OutcomeNotStored
	case x.Fate.Gone != nil && x.Conn.Tx != session.Inside:
		return execution.OutcomeUnknown // the statement may be committed already
	}
	// ErrBadConn proves nothing: drivers also return it if the connection broke after the
	// statement was sent.
	atomic := in.Rows == 1 || x.Plan.Dialect.AtomicStatements && in.Upsert.Conflict != plans.ConflictSkip && !x.OwnConflicts()
	if atomic && sqlcode.Answered(e.err) {
		return execution.OutcomeNotStored
	}
	return execution.OutcomeUnknown
}

// isUndone reports whether the engine has reported that it has rolled back the text's
// only INSERT in favour of another session, so that the INSERT may succeed when it is
// sent again.
func (e ending) isUndone() bool {
	return e.x.Plan.Alone() && sqlcode.ClassOf(e.x.Plan.Dialect, e.err).Transient() && e.outcome() == execution.OutcomeNotStored
}

// outcomeOf returns the outcome of the rows of one INSERT in the text, as far as the
// error shows it.
func (e ending) outcomeOf(in *plans.Insert) execution.Outcome {
	if e.x.Plan.Alone() {
		return e.outcome()
	}
	return e.together(in)
}
