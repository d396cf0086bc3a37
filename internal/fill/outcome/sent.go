package outcome

import (
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// noteAttempt records in a an execution that was sent, with the driver's answer.
func noteAttempt(a *execution.Attempt, x *execution.Execution, err error) {
	e := ending{x, err}
	switch {
	case err != nil && !e.isUndone():
		a.Other = a.Other || e.outcome() != execution.OutcomeNotStored
		return
	case !x.IsRepeatable() || len(a.Sent) == execution.MaxSent:
		a.Other = true
		return
	}
	x.Args = execution.OwnArgs(x.Args)
	a.Sent = append(a.Sent, x)
	if err == nil {
		a.Keyed = append(a.Keyed, x)
		a.Other = a.Other || KeyedBy(x) < 0 || !x.Conn.Place.Asked || x.Conn.Place.At.Answer != a.Place
	}
}

// KeyedBy returns the index of a key column's draw in the plan, if its keys prove that
// an execution has stored each of its rows once all of them are in the table; -1 if
// there is no such draw.
func KeyedBy(x *execution.Execution) int {
	in := &x.Plan.Inserts[0]
	if !x.Plan.Alone() || len(x.Plan.Inserts) != 1 || in.Query != nil || in.Explained || x.Plan.ByFunction() || in.Upsert.Conflict != plans.ConflictError {
		return -1
	}
	for i, d := range x.Plan.Draws {
		if in.Target.Keys[d.Key].Scope == nil && x.Holes.Counts[i] == in.Rows {
			return i
		}
	}
	return -1
}

// NoteSent records an execution that was sent, with the driver's answer, so that a
// repetition of its transaction gets its keys.
func NoteSent(x *execution.Execution, err error) {
	c := x.Conn
	if c.Attempt != nil {
		noteAttempt(c.Attempt, x, err)
	}
	if x.Recording.Recorder == nil || c.Tx != session.Inside || !x.IsRepeatable() || err != nil && !(ending{x, err}).isUndone() {
		return
	}
	o := &c.Recorded
	if o.Ends != c.Ends {
		o.Clear()
		o.Ends = c.Ends
	}
	if len(o.Executions) < execution.MaxLost && !slices.Contains(o.Executions, x) {
		x.Args = execution.OwnArgs(x.Args)
		o.Executions = append(o.Executions, x)
	}
}
