package outcome

//row:changes | how the outcome of a filled INSERT is counted | `fill/outcome/verdict.go`; counters: `keys/report/tally.go`, causes: `keys/report/cause.go`

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Verdict is the outcome of a filled INSERT as it is counted: all of its keys were
// stored, none was, or that is not known. Cause is why keys were not stored, or why it
// is not known.
type Verdict struct {
	Outcome execution.Outcome
	Failed  bool // the statement returned an error
	Cause   report.Cause
}

// AddTo counts n statements with this verdict.
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

// Account counts the outcome of an execution in the statistics, and reports it to tracers
// (see keyfill.WithTrace).
type Account struct{ X *execution.Execution }

// failure returns the verdict on an execution whose statement has failed with err.
func (a Account) failure(in *plans.Insert, err error) Verdict {
	return Verdict{ending{a.X, err}.outcomeOf(in), true, a.causeOf(err)}
}

// causeOf returns the cause to count for err.
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

// Verdict returns the verdict on one INSERT of a successful execution. res is nil if
// the statement returns rows, which are not read here.
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

// settled returns the verdict (the outcome to count) on an INSERT whose rows were
// queried in its table.
func settled(in *plans.Insert, rows []execution.Outcome) Verdict {
	v := Verdict{Outcome: execution.OutcomeStored, Cause: report.CauseCount}
	if in.Upsert.Conflict != plans.ConflictError {
		v.Cause = report.CauseConflict
	}
	for i, o := range rows {
		if i == 0 {
			v.Outcome = o
		} else if o != v.Outcome {
			v.Outcome = execution.OutcomeUnknown // some rows were stored and others not, or one is not known
		}
	}
	return v
}

// selected returns the verdict on an INSERT whose rows come from a query.
func (a Answer) selected(affected int64) Verdict {
	v := Verdict{Cause: a.causeOpen(affected)}
	switch {
	case a.isOpen():
	case a.x.Plan.ByFunction():
		// The engine has made a key for every row that there was.
		if v.Outcome = execution.OutcomeStored; affected == 0 {
			v.Outcome = execution.OutcomeNotStored
		}
	case affected == a.x.Drawn.Rows[0]:
		v.Outcome = execution.OutcomeStored
	}
	return v
}

// causeOpen returns the reason for which the answer does not show which rows were
// stored.
func (a Answer) causeOpen(affected int64) report.Cause {
	switch {
	case a.in.Upsert.Conflict != plans.ConflictError || a.x.OwnConflicts():
		return report.CauseConflict
	case a.in.Returning && affected < 0:
		return report.CauseRows
	}
	return report.CauseCount
}

// Count adds the execution to the statistics, with its outcome, after the driver has
// answered. An execution that failed with driver.ErrBadConn is sent again, and counted
// then. res is nil if the statement returns rows.
func (a Account) Count(res driver.Result, err error) {
	switch {
	case err != nil && execution.IsBadConn(err):
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

// eachInsert calls f for each INSERT of the execution, with its event.
func (a Account) eachInsert(f func(e *execution.Event, in *plans.Insert)) {
	first := execution.Events(a.X.Plan, a.X.Holes, a.X.Drawn.Rows)
	f(&first, &a.X.Plan.Inserts[0])
	for i := range first.Rest {
		f(&first.Rest[i], &a.X.Plan.Inserts[i+1])
	}
}

// CountAs counts an execution that has ended, with the verdict that on returns for each
// INSERT that got keys.
func (a Account) CountAs(on func(*plans.Insert) Verdict) {
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		t := e.Owner.TallyIn(&a.X.Conn.DB.Tally)
		if e.Action != plans.Fill {
			t.Kept.Add(1)
			relation.NoteInserts(context.Background(), a.X.Conn.DB.Tables)
			if a.X.Trace.To != nil {
				a.Tell(e, in, on(in))
			}
			return
		}
		relation.AddKeys(a.X.Conn.DB.Tables, t, uint64(e.Keys))
		v := on(in)
		v.AddTo(&t.Ended, 1)
		if a.X.Trace.To != nil {
			a.Tell(e, in, v)
		}
	})
}

// CountBegun counts an execution as begun; countLate counts its outcome later.
func (a Account) CountBegun() {
	a.eachInsert(func(e *execution.Event, _ *plans.Insert) {
		t := e.Owner.TallyIn(&a.X.Conn.DB.Tally)
		if e.Action != plans.Fill {
			t.Kept.Add(1)
			relation.NoteInserts(context.Background(), a.X.Conn.DB.Tables)
			return
		}
		relation.AddKeys(a.X.Conn.DB.Tables, t, uint64(e.Keys))
		t.Begun.Add(1)
	})
}

// countLate counts the outcome of an execution that was counted as begun before.
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

// CountNoKey counts the INSERTs of an execution that is not sent because it got no key.
// It does not count a refusal, which is counted elsewhere, nor an execution that failed
// with driver.ErrBadConn, which is sent again.
func (a Account) CountNoKey(err error) {
	var r *plans.Refusal
	if err == nil || err == driver.ErrSkip || execution.IsBadConn(err) || errors.As(err, &r) {
		return
	}
	cause := report.CauseOfNoKey(err)
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		if e.Action == plans.Fill {
			e.Owner.TallyIn(&a.X.Conn.DB.Tally).AddNoKey(cause)
			relation.NoteInserts(context.Background(), a.X.Conn.DB.Tables)
			a.traceFailure(e, in, cause)
		}
	})
}
