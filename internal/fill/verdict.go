package fill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// verdict is what became of a filled INSERT, as it is counted: all of its keys are
// stored, none is, or it is not known, for the cause.
type verdict struct {
	outcome outcome
	failed  bool // it ended in an error
	cause   keys.Cause
}

// addTo counts the verdict of n statements.
func (v verdict) addTo(o *keys.Outcomes, n uint64) {
	switch {
	case v.outcome == outcomeStored:
		o.Stored.Add(n)
	case v.outcome == outcomeUnknown:
		o.AddUnknown(v.cause, n)
	case v.failed:
		o.AddFailed(v.cause, n)
	default:
		o.LeftOut.Add(n)
	}
}

// account counts what becomes of an execution.
type account struct{ x *execution }

// failure is the verdict of an execution whose statement has ended in err.
func (a account) failure(in *rewrite.Insert, err error) verdict {
	return verdict{ending{a.x, err}.outcomeOf(in), true, a.causeOf(err)}
}

// causeOf returns the cause of a failure.
func (a account) causeOf(err error) keys.Cause {
	cause := causeOf(err)
	if a.x.fate.unfit {
		return keys.CauseColumn
	}
	if cause != keys.CauseEngine && (a.x.fate.undone || a.x.fate.gone != nil) {
		return keys.CauseTransaction
	}
	return cause
}

// causeOf returns the cause of a driver's error.
func causeOf(err error) keys.Cause {
	switch {
	case sqlcode.Answered(err):
		return keys.CauseEngine
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return keys.CauseCanceled
	}
	return keys.CauseConnection
}

// verdict is what became of one INSERT of an execution that has succeeded. The result is
// nil where the statement gives rows, which are not read here.
func (a account) verdict(in *rewrite.Insert, res driver.Result) verdict {
	switch {
	case in.Explained:
		return verdict{outcome: outcomeNotStored}
	case !a.x.plan.Alone():
		return verdict{outcome: ending{x: a.x}.together(in), cause: keys.CauseText}
	case a.x.fate.rows != nil:
		return settled(in, a.x.fate.rows)
	case res == nil:
		return verdict{cause: keys.CauseRows}
	}
	got := a.x.answer(res)
	affected := got.affected()
	if in.Query != nil {
		return got.selected(affected)
	}
	o, open := got.proven(affected)
	if o == outcomeUnknown && open {
		if f := got.table.GateOf(&a.x.conn.Conn).Rows.Load(); f != nil && f.Stays {
			o = got.byCount(affected)
		}
	}
	return verdict{outcome: o, cause: got.causeOpen(affected)}
}

// settled is the verdict of an INSERT whose rows were looked at.
func settled(in *rewrite.Insert, rows []outcome) verdict {
	v := verdict{outcome: outcomeStored, cause: keys.CauseCount}
	if in.Conflict != rewrite.ConflictError {
		v.cause = keys.CauseConflict
	}
	for i, o := range rows {
		if i == 0 {
			v.outcome = o
		} else if o != v.outcome {
			v.outcome = outcomeUnknown // some are stored, or one is not known
		}
	}
	return v
}

// selected is the verdict of an INSERT whose rows come from a query.
func (a answer) selected(affected int64) verdict {
	v := verdict{cause: a.causeOpen(affected)}
	switch {
	case a.isOpen():
	case a.x.plan.ByFunction():
		// The engine has made the keys of the rows that there were.
		if v.outcome = outcomeStored; affected == 0 {
			v.outcome = outcomeNotStored
		}
	case affected == a.x.rows[0]:
		v.outcome = outcomeStored
	}
	return v
}

// causeOpen returns why the answer leaves open what became of the rows.
func (a answer) causeOpen(affected int64) keys.Cause {
	switch {
	case a.in.Conflict != rewrite.ConflictError || a.x.ownConflicts():
		return keys.CauseConflict
	case a.in.Returning && affected < 0:
		return keys.CauseRows
	}
	return keys.CauseCount
}

// count adds the execution to the statistics when the driver has taken its statement,
// with what became of it. One that ends in driver.ErrBadConn is sent again, and counted
// then. The result is nil where the statement gives rows.
func (a account) count(res driver.Result, err error) {
	switch {
	case isBadConn(err):
		return
	case a.x.refused != nil:
		a.x.conn.DB.stats.note(WithTracer(context.Background(), a.x.trace.to.say), a.x.query, *a.x.refused, err)
		return
	}
	a.countAs(func(in *rewrite.Insert) verdict {
		if err != nil {
			return a.failure(in, err)
		}
		return a.verdict(in, res)
	})
}

// eachInsert calls a function for each INSERT of the execution, with what it counts as.
func (a account) eachInsert(f func(e *event, in *rewrite.Insert)) {
	defer keys.NoteInserts(context.Background(), a.x.conn.DB.Tables)
	first := events(a.x.plan, a.x.holes, a.x.rows)
	f(&first, &a.x.plan.Inserts[0])
	for i := range first.rest {
		f(&first.rest[i], &a.x.plan.Inserts[i+1])
	}
}

// countAs counts the execution, which has ended, by the verdict on each INSERT that got
// keys.
func (a account) countAs(on func(*rewrite.Insert) verdict) {
	a.eachInsert(func(e *event, in *rewrite.Insert) {
		t := a.x.conn.DB.Tally.Of(e.owner)
		if e.action != rewrite.Fill {
			t.Kept.Add(1)
			if a.x.trace.to != nil {
				a.tell(e, in, on(in))
			}
			return
		}
		t.Keys.Add(uint64(e.keys))
		v := on(in)
		v.addTo(&t.Ended, 1)
		a.tell(e, in, v)
	})
}

// countBegun counts the execution, whose outcome is counted by countLate.
func (a account) countBegun() {
	a.eachInsert(func(e *event, _ *rewrite.Insert) {
		t := a.x.conn.DB.Tally.Of(e.owner)
		if e.action != rewrite.Fill {
			t.Kept.Add(1)
			return
		}
		t.Keys.Add(uint64(e.keys))
		t.Begun.Add(1)
	})
}

// countLate counts what became of an execution that was counted as begun.
func (a account) countLate(on func(*rewrite.Insert) verdict) {
	a.eachInsert(func(e *event, in *rewrite.Insert) {
		if e.action != rewrite.Fill && a.x.trace.to == nil {
			return
		}
		v := on(in)
		if e.action == rewrite.Fill {
			v.addTo(&a.x.conn.DB.Tally.Of(e.owner).Late, 1)
		}
		a.tell(e, in, v)
	})
}

// countNoKey counts the INSERTs of an execution that is not sent, since it got no key. A
// refusal is counted as such, and what ends in driver.ErrBadConn is sent again.
func (a account) countNoKey(err error) {
	var r *rewrite.Refusal
	if err == nil || err == driver.ErrSkip || isBadConn(err) || errors.As(err, &r) {
		return
	}
	cause := keys.CauseOfNoKey(err)
	a.eachInsert(func(e *event, in *rewrite.Insert) {
		if e.action == rewrite.Fill {
			a.x.conn.DB.Tally.Of(e.owner).AddNoKey(cause)
			a.traceFailure(e, in, cause)
		}
	})
}
