package fill

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// reasonAtExecution is why an INSERT with a placeholder in the key's place is
// kept as far as its text tells.
const reasonAtExecution = "decided at execution"

// ExplainOn says what would become of a query by the options of the driver, on a version
// of the engine; two zeros are the newest.
func (db *Database) ExplainOn(query string, version [2]int) (explain.Explanation, error) {
	return explained(db.Candidates[0], query, version)
}

func explained(e *keys.Engine, query string, version [2]int) (explain.Explanation, error) {
	ex := explain.Explanation{Action: rewrite.Pass.String(), SQL: query, Slots: []explain.Slot{}}
	if rewrite.Concerns(e.Dialect, query)&rewrite.ConcernsInsert == 0 {
		return ex, nil
	}
	p := e.PlanOn(query, version)
	if p.Ambiguous() && p.Action != rewrite.Refuse {
		p = p.Unsettled()
	}
	ex.Action = p.Action.String()
	if p.Action == rewrite.Refuse {
		refusal(&ex, p.Refusal)
		ex.Inserts = refusedBeside(p, ex)
		return ex, nil
	}
	if p.Action == rewrite.Pass {
		return ex, nil
	}
	if n := &e.Dialect.Numbering.Tails; p.Action == rewrite.Fill && callsLater(p) && keys.IsBefore(version, n.Major, n.Minor) {
		p = p.Withheld(rewrite.ErrOldServer)
		ex.Action = p.Action.String()
		refusal(&ex, p.Refusal)
		ex.Inserts = refusedBeside(p, ex)
		return ex, nil
	}
	if reason := unsuitedByText(e, p, query); p.Action == rewrite.Fill && reason != "" {
		ex.Action = rewrite.Refuse.String()
		refusal(&ex, p.Refused(reason))
		ex.Inserts = refusedBeside(p, ex)
		return ex, nil
	}
	describe(&ex, p)
	if len(p.Inserts) > 1 {
		ex.Inserts = several(p)
	}
	switch {
	case p.Action == rewrite.Keep:
		if p.AtExecution {
			ex.Reason = reasonAtExecution
		}
		return ex, nil
	case p.Placeholders() > 0 && !p.TooMany():
		ex.SQL = p.ProvenText(p.Session())
		for _, place := range p.Places() {
			s := explain.Slot{Arg: place.Arg, Row: place.Row + 1}
			if p.Inserts[place.Insert].Query != nil {
				s.Row = 0
			}
			if t := keys.TableOf(&p.Inserts[place.Insert]); len(t.KeyColumns) > 1 {
				s.Column = t.KeyColumns[place.Key].Name
			}
			if len(p.Inserts) > 1 {
				s.Statement = place.Insert + 1
			}
			ex.Slots = append(ex.Slots, s)
		}
		return ex, nil
	}
	h := p.Assumed()
	drawn, err := keys.Draw(context.Background(), p, nil, h, oneRow(p), nil, keys.Examples{}, nil)
	if err != nil {
		return explain.Explanation{}, err
	}
	ex.SQL, ex.Literal = p.InlineAssumed(h, drawn, p.Session()), true
	return ex, nil
}

// refusal fills in why the query is refused.
func refusal(ex *explain.Explanation, r *rewrite.Refusal) {
	ex.Table, ex.Column, ex.Offset = r.Table, r.Column, r.Offset
	ex.Reason = r.Reason.Error()
	if r.Target.Owner.(*keys.Table).Rule.Unsupported == policy.Unfilled {
		ex.Reason = unfilledMark + ex.Reason
	}
}

// unfilledMark stands in front of the reason where the policy has a statement that cannot be
// filled go out as it is.
const unfilledMark = "unfilled: "

// reasonBeside is the reason of an INSERT that keyfill could fill if its text had no other
// INSERT.
const reasonBeside = "another INSERT of the text is refused, and a text is filled as a whole or not at all"

// refusedBeside returns what becomes of the INSERTs of a text of which one is refused, nil
// where it has no other.
func refusedBeside(p *rewrite.Plan, refused explain.Explanation) (all []explain.Insert) {
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

// several returns what becomes of each of several INSERTs.
func several(p *rewrite.Plan) []explain.Insert {
	all := make([]explain.Insert, len(p.Inserts))
	for i := range p.Inserts {
		all[i] = insertOf(&p.Inserts[i])
		all[i].Action = rewrite.Keep.String()
		if p.Inserts[i].Query != nil {
			all[i].Action = rewrite.Fill.String()
		}
	}
	for i, n := range p.Assumed().Counts {
		one := &all[p.Draws[i].Insert]
		if n > 0 {
			one.Action = rewrite.Fill.String()
		} else if one.Action == rewrite.Keep.String() {
			one.Reason = reasonAtExecution
		}
	}
	for i := range all {
		if all[i].Action == rewrite.Fill.String() {
			all[i].Reason = ""
			all[i].End = keys.TableOf(&p.Inserts[i]).EndOfKeys()
		}
	}
	return all
}

// insertOf says what an INSERT is.
func insertOf(in *rewrite.Insert) explain.Insert {
	one := explain.Insert{Table: in.Target.Table, Column: in.Target.Keys[0].Column, Offset: in.Offset}
	if in.Rows >= 0 {
		one.Rows = new(in.Rows)
	}
	return one
}

// describe fills in what the INSERTs are.
func describe(ex *explain.Explanation, p *rewrite.Plan) {
	in := &p.Inserts[0]
	ex.Table, ex.Column, ex.Offset = in.Target.Table, in.Target.Keys[0].Column, in.Offset
	ex.End = keys.TableOf(in).EndOfKeys()
	rows := 0
	for i := range p.Inserts {
		if p.Inserts[i].Rows < 0 {
			return
		}
		rows += p.Inserts[i].Rows
	}
	ex.Rows = &rows
}

// oneRow is the number of rows that a query is taken to have.
func oneRow(p *rewrite.Plan) map[int]int64 {
	rows := map[int]int64{}
	for _, i := range p.Counted() {
		rows[i] = 1
	}
	return rows
}
