package forecast

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// reasonAtExecution is the reason to show for an INSERT with a placeholder where the key
// belongs: its arguments decide whether the INSERT gets a key.
const reasonAtExecution = "decided at execution"

// ExplainOn returns how the driver would treat a query under its options, on a version
// of the engine. Two zeros mean the newest version.
func ExplainOn(db *execution.Database, query string, version [2]int) (explain.Explanation, error) {
	return explained(db.Candidates[0], query, version)
}

func explained(e *table.Engine, query string, version [2]int) (explain.Explanation, error) {
	if words.Concerns(e.Dialect, query)&words.ConcernsInsert == 0 {
		ex, err := explanation(&plans.Plan{}, query, nil, foresight{})
		ex.Reads = e.SessionReads(query)
		return ex, err
	}
	p := e.PlanOn(query, version)
	if p.Ambiguous() && p.Action != plans.Refuse {
		p = p.Unsettled()
	}
	var refused error
	if p.Action == plans.Fill {
		n := &e.Dialect.Numbering.Tails
		if executor.CallsLater(p) && table.IsBefore(version, n.Major, n.Minor) {
			refused = p.Refused(rewrite.ErrOldServer)
		} else if reason := executor.UnsuitedByText(e, p, query); reason != "" {
			refused = p.Refused(reason)
		}
	}
	ex, err := explanation(p, query, refused, foresight{session: p.Session, joined: true})
	if err == nil {
		ex.Depends = executor.Dependence(p, version)
		ex.Reads = e.SessionReads(query)
	}
	return ex, err
}

// explanation returns how a query is treated, from its plan. refused is the error for
// which it is not sent although the plan is to fill it; nil if it is sent as f
// foresees.
func explanation(p *plans.Plan, query string, refused error, f foresight) (explain.Explanation, error) {
	ex := explain.Explanation{Action: p.Action.String(), SQL: query, Slots: []explain.Slot{}}
	if p.Action == plans.Refuse && refused == nil {
		refused = p.Refusal
	}
	switch {
	case refused != nil:
		ex.Action = plans.Refuse.String()
		refusal(&ex, p, refused)
		ex.Inserts = refusedBeside(p, ex)
		return ex, nil
	case p.Action == plans.Pass:
		return ex, nil
	}
	describe(&ex, p)
	if len(p.Inserts) > 1 {
		ex.Inserts = several(p)
	}
	if p.Action == plans.Keep {
		if p.AtExecution {
			ex.Reason = reasonAtExecution
		}
		return ex, nil
	}
	err := sent(&ex, p, f)
	if err != nil && slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool {
		return slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool { return k.FromRow })
	}) {
		return explanation(p, query, err, f) // an execution refuses the same values
	}
	return ex, err
}

// sent sets the text that would be sent, and where its keys would be.
func sent(ex *explain.Explanation, p *plans.Plan, f foresight) error {
	switch {
	case f.fromFirst:
		ex.SQL, ex.Literal = rowcount.TextFrom(p, 1), true
		return nil
	case p.Placeholders() > 0 && !p.TooMany():
		ex.SQL = bind.Text(p, f.session)
		if f.joined {
			ex.SQL = bind.ProvenText(p, f.session)
		}
		ex.Slots = slotsOf(p, f.session)
		return nil
	}
	h := bind.AssumedHoles(p)
	drawn, err := keys.Draw(context.Background(), p, nil, h, oneRow(p), nil, keys.Examples{Dialect: p.Dialect}, nil)
	if err != nil {
		return err
	}
	ex.Literal = true
	if ex.SQL = bind.InlineAssumed(p, h, drawn, f.session); f.joined && p.Placeholders() == 0 {
		ex.SQL, _ = bind.InlineProven(p, nil, h, drawn, f.session)
	}
	return nil
}

// slotsOf returns the positions of the keys among the arguments.
func slotsOf(p *plans.Plan, session bool) []explain.Slot {
	slots := []explain.Slot{}
	for _, place := range bind.Places(p, session) {
		s := explain.Slot{Arg: place.Arg, Row: place.Row + 1}
		if p.Inserts[place.Insert].Query != nil {
			s.Row = 0
		}
		if t := table.Of(&p.Inserts[place.Insert]); len(t.KeyColumns) > 1 {
			s.Column = t.KeyColumns[place.Key].Name
		}
		if len(p.Inserts) > 1 {
			s.Statement = place.Insert + 1
		}
		slots = append(slots, s)
	}
	return slots
}

// refusal sets the reason for which the query is refused, or the error that the driver
// would return before it sends anything.
func refusal(ex *explain.Explanation, p *plans.Plan, err error) {
	var r *plans.Refusal
	if errors.As(err, &r) {
		err = r.Cause()
	} else {
		if r = p.Refusal; r == nil {
			r = p.Refused("")
		}
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the table, which is reported separately
		}
	}
	ex.Table, ex.Column, ex.Offset = r.Table, r.Column, r.Offset
	ex.Reason = strings.TrimPrefix(err.Error(), "keyfill: ")
	if r.Target.Owner.(*table.Table).Rule.Unsupported == policy.Unfilled {
		ex.Reason = unfilledMark + ex.Reason
	}
}

// unfilledMark precedes the reason in an explanation, if the policy lets a statement that
// cannot be filled be sent unchanged.
const unfilledMark = "unfilled: "

// reasonBeside is the reason for an INSERT that keyfill could fill if the text had no
// other INSERT.
const reasonBeside = "another INSERT of the text is refused, and a text is filled as a whole or not at all"

// refusedBeside returns how the INSERTs of a text are treated if one of them is
// refused; nil if the text has no other INSERT.
func refusedBeside(p *plans.Plan, refused explain.Explanation) (all []explain.Insert) {
	own := explain.Insert{
		Action: refused.Action, Table: refused.Table, Column: refused.Column, Reason: refused.Reason, Offset: refused.Offset,
	}
	beside := reasonBeside
	if strings.HasPrefix(refused.Reason, unfilledMark) {
		beside = unfilledMark + beside
	}
	seen := false
	for i := range p.Inserts {
		in := &p.Inserts[i]
		last := i+1 == len(p.Inserts) || p.Inserts[i+1].Offset > refused.Offset
		if !seen && in.Offset <= refused.Offset && last && in.Target.Table == refused.Table {
			all, seen = append(all, own), true
			continue
		}
		if !seen && in.Offset > refused.Offset {
			all, seen = append(all, own), true
		}
		one := insertOf(in)
		one.Action, one.Reason = refused.Action, beside
		all = append(all, one)
	}
	if !seen {
		all = append(all, own)
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// several returns how each of several INSERTs is treated.
func several(p *plans.Plan) []explain.Insert {
	all := make([]explain.Insert, len(p.Inserts))
	for i := range p.Inserts {
		all[i] = insertOf(&p.Inserts[i])
		all[i].Action = plans.Keep.String()
		if p.Inserts[i].Query != nil {
			all[i].Action = plans.Fill.String()
		}
	}
	for i, n := range bind.AssumedHoles(p).Counts {
		one := &all[p.Draws[i].Insert]
		if n > 0 {
			one.Action = plans.Fill.String()
		} else if one.Action == plans.Keep.String() {
			one.Reason = reasonAtExecution
		}
	}
	for i := range all {
		if all[i].Action == plans.Fill.String() {
			all[i].Reason = ""
			all[i].End, all[i].Made = table.Of(&p.Inserts[i]).EndOfKeys(), table.Of(&p.Inserts[i]).MadeFrom()
		}
	}
	return all
}

// insertOf describes an INSERT.
func insertOf(in *plans.Insert) explain.Insert {
	one := explain.Insert{Table: in.Target.Table, Column: in.Target.Keys[0].Column, Offset: in.Offset}
	if in.Rows >= 0 {
		one.Rows = new(in.Rows)
	}
	return one
}

// describe sets the descriptions of the INSERTs.
func describe(ex *explain.Explanation, p *plans.Plan) {
	in := &p.Inserts[0]
	ex.Table, ex.Column, ex.Offset = in.Target.Table, in.Target.Keys[0].Column, in.Offset
	ex.End, ex.Made = table.Of(in).EndOfKeys(), table.Of(in).MadeFrom()
	for j := range p.Inserts {
		if ex.Numbers = table.Of(&p.Inserts[j]).NumbersOf(); ex.Numbers != "" {
			break
		}
	}
	rows := 0
	for i := range p.Inserts {
		if p.Inserts[i].Rows < 0 {
			return
		}
		rows += p.Inserts[i].Rows
	}
	ex.Rows = &rows
}

// oneRow returns 1 as the number of rows of each query that would be counted.
func oneRow(p *plans.Plan) map[int]int64 {
	rows := map[int]int64{}
	for _, i := range p.Counted() {
		rows[i] = 1
	}
	return rows
}
