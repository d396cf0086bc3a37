package keyfill

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Explanation is what would become of a query: the machine form of
// "keyfill explain", one JSON object.
type Explanation struct {
	// Action is the first of refuse, fill, keep and pass that holds for a
	// statement in the text.
	Action string `json:"action"`
	// SQL is what would be sent: the query itself unless a key is filled.
	SQL string `json:"sql"`
	// Table and Column are those of the first statement with that action; "" for
	// pass.
	Table  string `json:"table"`
	Column string `json:"column"`
	// Rows is how many VALUES rows there are; null when that is not known.
	Rows *int `json:"rows"`
	// Slots are the places of the keys among the arguments; empty where the keys
	// are literals.
	Slots []ExplainedSlot `json:"slots"`
	// Literal says that the keys are written into the text.
	Literal bool `json:"literal"`
	// Reason says why, for refuse and for a keep that a bound value decides.
	Reason string `json:"reason"`
	// Offset is the byte of the query that the reason is about, else that of
	// the statement's verb.
	Offset int `json:"offset"`
	// End is the day on which the table's keys end, in UTC, as in 2089-09-06:
	// that of the bits of a snowflake or composite. "" for keys whose end is not a day.
	End string `json:"end,omitempty"`
}

// ExplainedSlot is the place of one key.
type ExplainedSlot struct {
	Arg       int    `json:"arg"`                 // place in the final arguments, from 1
	Row       int    `json:"row"`                 // from 1; 0 for what all rows of a query are numbered from
	Statement int    `json:"statement,omitempty"` // which of several INSERTs, from 1
	Column    string `json:"column,omitempty"`    // where several are filled
}

// reasonAtExecution is why an INSERT with a placeholder in the key's place is
// kept as far as its text tells.
const reasonAtExecution = "decided at execution"

// Explainer explains queries without a database: the newest version of the
// engine is assumed, keys are placed as by Exec, the mode is ignored. It is
// safe for concurrent use.
type Explainer struct{ engine *engine }

// NewExplainer returns an explainer for a policy in a dialect; d may be nil when
// the policy names it.
func NewExplainer(o Options, d *dialect.Dialect) (*Explainer, error) {
	o, err := o.withPolicy()
	if err != nil {
		return nil, err
	}
	if d == nil {
		if d, err = dialect.ByName(o.Policy.Dialect); err != nil {
			return nil, fmt.Errorf("keyfill: say which dialect: %w", err)
		}
	}
	e, err := newEngine(o, d, newSources(o))
	if err != nil {
		return nil, err
	}
	return &Explainer{e}, nil
}

// Explain says what would become of a query sent by Exec without a statement of
// its own. It fails when a source that makes a literal key fails.
func (x *Explainer) Explain(query string) (Explanation, error) {
	ex := Explanation{Action: rewrite.Pass.String(), SQL: query, Slots: []ExplainedSlot{}}
	if rewrite.Concerns(x.engine.dialect, query)&rewrite.ConcernsInsert == 0 {
		return ex, nil
	}
	p := x.engine.plan(query)
	if p.Ambiguous() && p.Action != rewrite.Refuse {
		p = p.Unsettled()
	}
	ex.Action = p.Action.String()
	if p.Action == rewrite.Refuse {
		ex.refuse(p.Refusal)
		return ex, nil
	}
	if p.Action == rewrite.Pass {
		return ex, nil
	}
	if reason := x.engine.unsuited(p, query); p.Action == rewrite.Fill && reason != "" {
		ex.Action = rewrite.Refuse.String()
		ex.refuse(p.Refused(reason))
		return ex, nil
	}
	ex.describe(p)
	switch {
	case p.Action == rewrite.Keep:
		if p.AtExecution {
			ex.Reason = reasonAtExecution
		}
		return ex, nil
	case p.Placeholders() > 0 && !p.TooMany():
		ex.SQL = p.ProvenText(p.Session())
		for _, place := range p.Places() {
			s := ExplainedSlot{Arg: place.Arg, Row: place.Row + 1}
			if p.Inserts[place.Insert].Query != nil {
				s.Row = 0
			}
			if t := tableOf(&p.Inserts[place.Insert]); len(t.keys) > 1 {
				s.Column = t.keys[place.Key].column
			}
			if len(p.Inserts) > 1 {
				s.Statement = place.Insert + 1
			}
			ex.Slots = append(ex.Slots, s)
		}
		return ex, nil
	}
	h := p.Assumed()
	keys, err := draw(context.Background(), p, nil, h, oneRow(p), nil, dummies{})
	if err != nil {
		return Explanation{}, err
	}
	ex.SQL, ex.Literal = p.InlineAssumed(h, keys, p.Session()), true
	return ex, nil
}

// dummies gives the keys of an explanation: integers from 1, since those of a
// state would have to be drawn.
type dummies struct{}

func (dummies) give(ctx context.Context, t *table, i, n int) ([]driver.Value, error) {
	k := &t.keys[i]
	if k.source != nil {
		return k.source.Next(ctx, keysource.Request{N: n, Layout: k.layout})
	}
	if k.shape != nil {
		return k.example(n)
	}
	return keysource.Integers(1, n, k.layout), nil
}

// reserve gives the rows of an INSERT … SELECT the numbers from 1.
func (dummies) reserve(context.Context, *table, int, int64) (int64, error) { return 1, nil }

// refuse fills in why the query is refused.
func (ex *Explanation) refuse(r *rewrite.Refusal) {
	ex.Table, ex.Column, ex.Offset = r.Table, r.Column, r.Offset
	ex.Reason = r.Reason.Error()
	if r.Target.Owner.(*table).rule.Unsupported == policy.Unfilled {
		ex.Reason = "unfilled: " + ex.Reason
	}
}

// describe fills in what the INSERTs are.
func (ex *Explanation) describe(p *rewrite.Plan) {
	in := &p.Inserts[0]
	ex.Table, ex.Column, ex.Offset = in.Target.Table, in.Target.Keys[0].Column, in.Offset
	ex.End = tableOf(in).end()
	rows := 0
	for i := range p.Inserts {
		if p.Inserts[i].Rows < 0 {
			return
		}
		rows += p.Inserts[i].Rows
	}
	ex.Rows = &rows
}

// end returns the first day on which a key column of the table gets no keys.
func (t *table) end() string {
	first := ""
	for i := range t.keys {
		if src := t.keys[i].rule.Source; ofWorkers(src) {
			day := src.SnowflakeOptions().Bits.End().Format(time.DateOnly)
			if first == "" || day < first {
				first = day
			}
		}
	}
	return first
}

// oneRow is the number of rows that a query is taken to have.
func oneRow(p *rewrite.Plan) map[int]int64 {
	rows := map[int]int64{}
	for _, i := range p.Counted() {
		rows[i] = 1
	}
	return rows
}
