package outcome

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Tell reports the outcome of one INSERT of the execution to the tracer (see
// keyfill.WithTrace), if there is one.
func (a Account) Tell(e *execution.Event, in *plans.Insert, v Verdict) {
	if a.X.Trace.To != nil {
		a.X.Trace.To.Say(a.traced(e, in, v))
	}
}

// tellRows reports the execution to the tracers (see keyfill.WithTrace) that are called
// before its rows are read. If a tracer panics, the rows are closed.
func (a Account) tellRows(rows driver.Rows) {
	if !a.X.Trace.To.IsOfRows() {
		return
	}
	told := false
	defer func() {
		if !told {
			_ = rows.Close() // a tracer has panicked, so the caller does not get the rows
		}
	}()
	a.eachInsert(func(e *execution.Event, in *plans.Insert) {
		a.X.Trace.To.SayTo(true, a.traced(e, in, Verdict{Cause: report.CauseRows}))
	})
	told = true
}

// traced returns what a tracer (see keyfill.WithTrace) gets about one INSERT of the
// execution.
func (a Account) traced(e *execution.Event, in *plans.Insert, v Verdict) execution.Traced {
	x := a.X
	told := execution.Traced{
		Entry: e.Owner.Rule.Entry, Table: e.Table, Action: e.Action, Offset: -1, Keys: e.Keys,
		Way: x.Way(), Joined: x.Form.Joined, Outcome: v.Outcome, Failed: v.Failed,
	}
	if v.Failed || v.Outcome == execution.OutcomeUnknown {
		told.Cause = v.Cause.String()
	}
	if e.Action == plans.Fill {
		k := x.SourceOf(in)
		told.Kind, told.Source = k.Rule.Source.Kind, table.SourceName(e.Owner.Rule.Entry, &k.Rule)
		if x.Trace.Waits != nil {
			told.Blocks = *x.Trace.Waits
		}
	}
	return told
}

// traceFailure reports an INSERT that got no key and is not sent.
func (a Account) traceFailure(e *execution.Event, in *plans.Insert, cause report.Cause) {
	e.Keys = 0
	a.Tell(e, in, Verdict{execution.OutcomeNotStored, true, cause})
}
