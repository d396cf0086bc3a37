package fill

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// event is one statement to count and to report.
type event struct {
	counts   bool // false: there is nothing to count
	table    string
	owner    *keys.Table
	action   rewrite.Action
	keys     int
	reason   rewrite.Reason
	offset   int
	mode     policy.Mode
	withheld bool
	rest     []event // of the other INSERTs of the text

	// worked is the plan of an INSERT that is kept for an expression in a key's
	// place, which an option of the driver may change.
	worked *rewrite.Plan
}

// events returns what a text counts as: filled where it takes keys, else kept.
// The event is about the first INSERT, and its rest about the others. rows is as for
// keys.Draw.
func events(p *rewrite.Plan, h rewrite.Holes, rows map[int]int64) event {
	first := event{counts: true, table: p.Inserts[0].Target.Table, owner: keys.TableOf(&p.Inserts[0]), action: rewrite.Keep}
	for i := range p.Inserts[1:] {
		first.rest = append(first.rest, event{counts: true, table: p.Inserts[i+1].Target.Table, owner: keys.TableOf(&p.Inserts[i+1]), action: rewrite.Keep})
	}
	for i := range p.Inserts {
		if in := &p.Inserts[i]; in.Query == nil {
			continue
		} else if i == 0 {
			first.action = rewrite.Fill
		} else {
			first.rest[i-1].action = rewrite.Fill
		}
	}
	for i, d := range p.Draws {
		if i >= len(h.Counts) || h.Counts[i] == 0 {
			continue
		}
		e := &first
		if d.Insert > 0 {
			e = &first.rest[d.Insert-1]
		}
		e.action = rewrite.Fill
		switch in := &p.Inserts[d.Insert]; {
		case in.Explained:
		case in.Query != nil:
			e.keys += int(rows[d.Insert])
		default:
			e.keys += h.Counts[i]
		}
	}
	return first
}

// withheld returns what a text counts as that goes out as it came because of a
// mode, or because it takes no key.
func withheld(p *rewrite.Plan, h rewrite.Holes, mode policy.Mode) event {
	first := events(p, h, nil)
	first.withhold(mode)
	for i := range first.rest {
		first.rest[i].withhold(mode)
	}
	return first
}

func (e *event) withhold(mode policy.Mode) {
	if e.action == rewrite.Fill {
		e.keys, e.mode, e.withheld = 0, mode, mode != policy.ModeFill
	}
}

// addAlone counts the event of the first INSERT of the text, which got no key.
func (e *event) addAlone(c *keys.Tally) {
	if e.action == rewrite.Pass {
		c.Passed.Add(1)
		return
	}
	t := c.Of(e.owner)
	switch e.action {
	case rewrite.Fill:
		t.WouldFill.Add(1)
	case rewrite.Keep:
		t.Kept.Add(1)
	case rewrite.Refuse:
		t.Refuse(e.reason)
	}
	if e.withheld {
		t.Withheld.Add(1)
	}
}
