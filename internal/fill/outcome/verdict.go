package outcome

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Verdict is the outcome of a filled INSERT, as it is counted: all of its keys are
// stored, none is, or it is not known, for the cause.
type Verdict struct {
	Outcome execution.Outcome
	Failed  bool // it ended in an error
	Cause   report.Cause
}

// AddTo counts the verdict of n statements.
func (v Verdict) AddTo(o *report.Outcomes, n uint64) {
	switch {
	case v.Outcome == execution.OutcomeStored:
		o.Stored.Add(n)
	case v.Outcome == execution.OutcomeUnknown:
		o.AddUnknown(v.Cause, n)
	case v.Failed:
		o.AddFailed(v.Cause, n)
	default:
		o.LeftOut.Add(n)
	}
}

// Account counts whether the rows of an execution were stored.
type Account struct{ X *execution.Execution }

// failure is the verdict of an execution whose statement has ended in err.
func (a Account) failure(in *plans.Insert, err error) Verdict {
	return Verdict{ending{a.X, err}.outcomeOf(in), true, a.causeOf(err)}
}

// causeOf returns the cause of a failure.
func (a Account) causeOf(err error) report.Cause {
	cause := execution.CauseOf(err)
	if a.X.Fate.Unfit {
		return report.CauseColumn
	}
	if cause != report.CauseEngine && (a.X.Fate.Undone || a.X.Fate.Gone != nil) {
		return report.CauseTransaction
	}
	return cause
}

// Verdict returns the outcome of one INSERT of an execution that has succeeded. The result is
// nil where the statement gives rows, which are not read here.
func (a Account) Verdict(in *plans.Insert, res driver.Result) Verdict {
	switch {
	case in.Explained:
		return Verdict{Outcome: execution.OutcomeNotStored}
	case !a.X.Plan.Alone():
		return Verdict{Outcome: ending{x: a.X}.together(in), Cause: report.CauseText}
	case a.X.Fate.Rows != nil:
		return settled(in, a.X.Fate.Rows)
	case res == nil:
		return Verdict{Cause: report.CauseRows}
	}
	got := AnswerTo(a.X, res)
	affected := got.affected()
	if in.Query != nil {
		return got.selected(affected)
	}
	o, open := got.proven(affected)
	if o == execution.OutcomeUnknown && open {
		if f := a.X.Conn.GateOf(got.table).Rows.Load(); f != nil && f.Stays {
			o = got.byCount(affected)
		}
	}
	return Verdict{Outcome: o, Cause: got.causeOpen(affected)}
}

// settled is the verdict of an INSERT whose rows were looked at.
func settled(in *plans.Insert, rows []execution.Outcome) Verdict {
	v := Verdict{Outcome: execution.OutcomeStored, Cause: report.CauseCount}
	if in.Upsert.Conflict != plans.ConflictError {
		v.Cause = report.CauseConflict
	}
	for i, o := range rows {
		if i == 0 {
			v.Outcome = o
		} else if o != v.Outcome {
			v.Outcome = execution.OutcomeUnknown // some are stored, or one is not known
		}
	}
	return v
}

// selected is the verdict of an INSERT whose rows come from a query.
func (a Answer) selected(affected int64) Verdict {
	v := Verdict{Cause: a.causeOpen(affected)}
	switch {
	case a.isOpen():
	case a.x.Plan.ByFunction():
		// The engine has made the keys of the rows that there were.
		if v.Outcome = execution.OutcomeStored; affected == 0 {
			v.Outcome = execution.OutcomeNotStored
		}
	case affected == a.x.Drawn.Rows[0]:
		v.Outcome = execution.OutcomeStored
	}
	return v
}

// causeOpen returns why the answer does not show which rows were stored.
func (a Answer) causeOpen(affected int64) report.Cause {
	switch {
	case a.in.Upsert.Conflict != plans.ConflictError || a.x.OwnConflicts():
		return report.CauseConflict
	case a.in.Returning && affected < 0:
		return report.CauseRows
	}
	return report.CauseCount
}

// Count adds the execution to the statistics when the driver has taken its statement,
// with its outcome. One that ends in driver.ErrBadConn is sent again, and counted
// then. The result is nil where the statement gives rows.
func (a Account) Count(res driver.Result, err error) {
	switch {
	case execution.IsBadConn(err):
		return
	case a.X.Refused != nil:
		a.X.Conn.DB.Stats.Note(execution.WithTracer(context.Background(), a.X.Trace.To.Say), a.X.Query, *a.X.Refused, err)
		return
	}
	a.CountAs(func(in *plans.Insert) Verdict {
		if err != nil {
			return a.failure(in, err)
		}
		return a.Verdict(in, res)
	})
}

// eachInsert calls a function for each INSERT of the execution, with its event.
func (a Account) eachInsert(f func(e *execution.Event, in *plans.Insert)) {
	defer relation.NoteInserts(context.Background(), a.X.Conn.DB.Tables)
	first := execution.Events(a.X.Plan, a.X.Holes, a.X.Drawn.Rows)
	f(&first, &a.X.Plan.Inserts[0])
	for i := range first.Rest {
		f(&first.Rest[i], &a.X.Plan.Inserts[i+1])
	}
}

// CountAs counts the execution, which has ended, by the verdict on each INSERT that got
// keys.
func (a Account) CountAs(on func(*plans.Insert) Verdict) {
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		t := e.Owner.TallyIn(&a.X.Conn.DB.Tally)
		if e.Action != plans.Fill {
			t.Kept.Add(1)
			if a.X.Trace.To != nil {
				a.Tell(e, in, on(in))
			}
			return
		}
		t.Keys.Add(uint64(e.Keys))
		v := on(in)
		v.AddTo(&t.Ended, 1)
		a.Tell(e, in, v)
	})
}

// CountBegun counts the execution, whose outcome is counted by countLate.
func (a Account) CountBegun() {
	a.eachInsert(func(e *execution.Event, _ *plans.Insert) {
		t := e.Owner.TallyIn(&a.X.Conn.DB.Tally)
		if e.Action != plans.Fill {
			t.Kept.Add(1)
			return
		}
		t.Keys.Add(uint64(e.Keys))
		t.Begun.Add(1)
	})
}

// countLate counts the outcome of an execution that was counted as begun.
func (a Account) countLate(on func(*plans.Insert) Verdict) {
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		if e.Action != plans.Fill && a.X.Trace.To == nil {
			return
		}
		v := on(in)
		if e.Action == plans.Fill {
			v.AddTo(&e.Owner.TallyIn(&a.X.Conn.DB.Tally).Late, 1)
		}
		a.Tell(e, in, v)
	})
}

// CountNoKey counts the INSERTs of an execution that is not sent, since it got no key. A
// refusal is counted as such, and what ends in driver.ErrBadConn is sent again.
func (a Account) CountNoKey(err error) {
	var r *plans.Refusal
	if err == nil || err == driver.ErrSkip || execution.IsBadConn(err) || errors.As(err, &r) {
		return
	}
	cause := report.CauseOfNoKey(err)
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		if e.Action == plans.Fill {
			e.Owner.TallyIn(&a.X.Conn.DB.Tally).AddNoKey(cause)
			a.traceFailure(e, in, cause)
		}
	})
}
