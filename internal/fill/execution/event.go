package execution

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Event describes one statement, to be counted and reported.
type Event struct {
	Counts   bool // false means that nothing is counted
	Table    string
	Owner    *table.Table
	Action   plans.Action
	Keys     int
	Reason   rewrite.Reason
	Offset   int
	Mode     policy.Mode
	Withheld bool
	Rest     []Event // the events of the other INSERTs in the text

	// Worked is the plan of an INSERT that is kept (sent with its own key) because an
	// expression stands where the key belongs. An option of the driver may change that
	// expression.
	Worked *plans.Plan
}

// Events returns the event of a text: Fill if it takes keys, else Keep. It is about the
// first INSERT, and its Rest about the other INSERTs. rows holds the number of rows of
// each INSERT … SELECT, by the INSERT's index.
func Events(p *plans.Plan, h bind.Holes, rows map[int]int64) Event {
	first := Event{Counts: true, Table: p.Inserts[0].Target.Table, Owner: table.Of(&p.Inserts[0]), Action: plans.Keep}
	for i := range p.Inserts[1:] {
		first.Rest = append(first.Rest, Event{Counts: true, Table: p.Inserts[i+1].Target.Table, Owner: table.Of(&p.Inserts[i+1]), Action: plans.Keep})
	}
	for i := range p.Inserts {
		if in := &p.Inserts[i]; in.Query == nil {
			continue
		} else if i == 0 {
			first.Action = plans.Fill
		} else {
			first.Rest[i-1].Action = plans.Fill
		}
	}
	for i, d := range p.Draws {
		if i >= len(h.Counts) || h.Counts[i] == 0 {
			continue
		}
		e := &first
		if d.Insert > 0 {
			e = &first.Rest[d.Insert-1]
		}
		e.Action = plans.Fill
		switch in := &p.Inserts[d.Insert]; {
		case in.Explained:
		case in.Query != nil:
			e.Keys += int(rows[d.Insert])
		default:
			e.Keys += h.Counts[i]
		}
	}
	return first
}

// Withheld returns the event of a text that is sent unchanged because the policy's mode is
// dry_run or off, or because it needs no key.
func Withheld(p *plans.Plan, h bind.Holes, mode policy.Mode) Event {
	first := Events(p, h, nil)
	first.withhold(mode)
	for i := range first.Rest {
		first.Rest[i].withhold(mode)
	}
	return first
}

func (e *Event) withhold(mode policy.Mode) {
	if e.Action == plans.Fill {
		e.Keys, e.Mode, e.Withheld = 0, mode, mode != policy.ModeFill
	}
}

// addAlone counts the event of the first INSERT in the text, which got no key.
func (e *Event) addAlone(c *report.Tally) {
	if e.Action == plans.Pass {
		c.Passed.Add(1)
		return
	}
	t := e.Owner.TallyIn(c)
	switch e.Action {
	case plans.Fill:
		t.WouldFill.Add(1)
	case plans.Keep:
		t.Kept.Add(1)
	case plans.Refuse:
		t.Refuse(e.Reason)
	}
	if e.Withheld {
		t.Withheld.Add(1)
	}
}

// CauseOf returns the cause to report for an error of the driver.
func CauseOf(err error) report.Cause {
	switch {
	case sqlcode.Answered(err):
		return report.CauseEngine
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return report.CauseCanceled
	}
	return report.CauseConnection
}
