package fill

import (
	"context"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// reasonAtExecution is why an INSERT with a placeholder in the key's place is
// kept as far as its text tells.
const reasonAtExecution = "decided at execution"

// Explain says what would become of a query by the options of the driver.
func (db *Database) Explain(query string) (explain.Explanation, error) {
	return explained(db.Candidates[0], query)
}

func explained(e *keys.Engine, query string) (explain.Explanation, error) {
	ex := explain.Explanation{Action: rewrite.Pass.String(), SQL: query, Slots: []explain.Slot{}}
	if rewrite.Concerns(e.Dialect, query)&rewrite.ConcernsInsert == 0 {
		return ex, nil
	}
	p := e.Plan(query)
	if p.Ambiguous() && p.Action != rewrite.Refuse {
		p = p.Unsettled()
	}
	ex.Action = p.Action.String()
	if p.Action == rewrite.Refuse {
		refusal(&ex, p.Refusal)
		return ex, nil
	}
	if p.Action == rewrite.Pass {
		return ex, nil
	}
	if reason := unsuitedByText(e, p, query); p.Action == rewrite.Fill && reason != "" {
		ex.Action = rewrite.Refuse.String()
		refusal(&ex, p.Refused(reason))
		return ex, nil
	}
	describe(&ex, p)
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
		ex.Reason = "unfilled: " + ex.Reason
	}
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
