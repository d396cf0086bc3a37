package outcome

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Executed finishes an Exec whose statement was sent: it finds out which rows were
// stored, raises counters, counts and records.
func Executed(ctx context.Context, x *execution.Execution, res driver.Result, err error) (driver.Result, error) {
	if err == nil && !x.Fate.Asked {
		AnswerTo(x, res).Settle(ctx)
		if err = x.Fate.Gone; err != nil {
			res = nil
		}
	}
	if err == nil && x.Follows.Any() {
		if err = RaiseAfter(ctx, &x.Follows); err != nil {
			res, x.Fate.Gone = nil, err
		}
	}
	if err != nil {
		noteUnfit(ctx, x, err)
	}
	Account{x}.Count(res, err)
	Record(x, err)
	NoteSent(x, err)
	if err != nil {
		Failed(ctx, x, err)
		return res, Meant(x, SetRefused(x.Plan, err))
	}
	if x.Form.Kept {
		return res, nil
	}
	noteNumber(x)
	answer := AnswerTo(x, res)
	if x.Plan.Dialect.Grammar.ValueSets {
		if err := answer.storedMore(ctx); err != nil {
			return res, err
		}
	}
	return WithSeveral(lastID{answer}.result()), nil
}

// noteNumber records the number of an execution that has got its keys and was sent, as
// the engine would have remembered it for the session.
func noteNumber(x *execution.Execution) {
	if f := execution.FactsOf(x.Conn, table.Of(&x.Plan.Inserts[0])); f != nil && f.HasCounter && !x.Form.Batched {
		x.Conn.Numbers.Note(x.Plan, f)
	}
}

// Queried finishes a Query whose statement was sent. Its outcome becomes known when its
// rows are read.
func Queried(ctx context.Context, x *execution.Execution, rows driver.Rows, err error) (driver.Rows, error) {
	NoteSent(x, err)
	if err != nil {
		noteUnfit(ctx, x, err)
		Account{x}.Count(nil, err)
		Record(x, err)
		Failed(ctx, x, err)
		return nil, Meant(x, SetRefused(x.Plan, err))
	}
	if !x.Form.Kept {
		noteNumber(x)
	}
	if x.Form.Kept || x.Recording.Recorder == nil && x.Trace.To == nil && !x.HasNumbers() {
		Account{x}.Count(nil, nil)
		return rows, nil
	}
	Account{x}.CountBegun()
	rows = Observe(ctx, x, rows)
	Account{x}.tellRows(rows)
	return rows, nil
}

// Failed handles the error of a statement that was sent.
func Failed(ctx context.Context, x *execution.Execution, err error) {
	DoubtNames(x, err)
	if sqlcode.Answered(err) {
		raiseKept(ctx, &x.Follows, x.Plan)
	}
	if execution.IsBadConn(err) || (ending{x, err}).isUndone() {
		x.Recording.Recorder.Lose(x)
		return
	}
	Suspect(ctx, x, err)
}
