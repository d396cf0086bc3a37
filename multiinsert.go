package keyfill

import (
	"cmp"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A text may hold several INSERTs, and other statements beside them, which all
// get their keys or none. What the driver answers is said of the last statement,
// or of the first, and counts rows of any of them.

// cautious returns the mode for a text: the most cautious of its tables' modes,
// since it goes out as it came or filled as a whole.
func (db *database) cautious(p *rewrite.Plan) policy.Mode {
	mode := policy.ModeFill
	for i := range p.Inserts {
		mode = policy.MoreCautious(mode, db.effective(tableOf(&p.Inserts[i])))
	}
	return mode
}

// events returns what a text counts as: filled where it takes keys, else kept.
// The event is that of the first INSERT and holds those of the others. rows is as for
// draw.
func events(p *rewrite.Plan, h rewrite.Holes, rows map[int]int64) event {
	as := event{counts: true, table: p.Inserts[0].Target.Table, owner: tableOf(&p.Inserts[0]), action: rewrite.Keep}
	for i := range p.Inserts[1:] {
		as.rest = append(as.rest, event{counts: true, table: p.Inserts[i+1].Target.Table, owner: tableOf(&p.Inserts[i+1]), action: rewrite.Keep})
	}
	for i := range p.Inserts {
		if in := &p.Inserts[i]; in.Query == nil {
			continue
		} else if i == 0 {
			as.action = rewrite.Fill
		} else {
			as.rest[i-1].action = rewrite.Fill
		}
	}
	for i, d := range p.Draws {
		if i >= len(h.Counts) || h.Counts[i] == 0 {
			continue
		}
		e := &as
		if d.Insert > 0 {
			e = &as.rest[d.Insert-1]
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
	return as
}

// withheld returns what a text counts as that goes out as it came because of a
// mode, or because it takes no key.
func withheld(p *rewrite.Plan, h rewrite.Holes, mode policy.Mode) event {
	as := events(p, h, nil)
	as.withhold(mode)
	for i := range as.rest {
		as.rest[i].withhold(mode)
	}
	return as
}

func (e *event) withhold(mode policy.Mode) {
	if e.action == rewrite.Fill {
		e.keys, e.mode, e.withheld = 0, mode, mode != policy.ModeFill
	}
}

// countAll counts the event of each INSERT of a text.
func (c *counters) countAll(e event) {
	c.count(e)
	for _, e := range e.rest {
		c.count(e)
	}
}

// together is the outcome of an INSERT that is not alone in its text.
func (x *execution) together(in *rewrite.Insert, err error) Outcome {
	p := x.plan
	switch {
	case err != nil && p.Statements == 1 && p.Dialect().AtomicStatements && sqlcode.Answered(err):
		return NotStored
	case err != nil, p.Statements > 1 && p.Undoes():
		return Unknown
	}
	if in.Branched {
		return Unknown
	}
	for i := range p.Inserts {
		if p.Inserts[i].Conflict != rewrite.ConflictError && (p.Statements > 1 || in == &p.Inserts[i]) {
			return Unknown
		}
	}
	return Stored
}

// settled notes the outcomes of the INSERTs of a text that has run to its end, or
// has failed.
func (x *execution) settled(keys []RecordedKey, err error) {
	i := 0
	for _, p := range x.plan.Filled(x.holes) {
		if in := &x.plan.Inserts[p.Insert]; !in.Explained {
			keys[i].Outcome = x.together(in, err)
			i++
		}
	}
	// Behind them are those of queries, of whose rows nothing is known but that a
	// statement which has failed stored none.
	for ; i < len(keys); i++ {
		if o := x.together(&x.plan.Inserts[0], err); o == NotStored {
			keys[i].Outcome = o
		}
	}
}

// dummies returns n times what stands for a key where none is stored: 0, or the
// zero of the layout.
func (k *tableKey) dummies(n int) []driver.Value {
	keys := make([]driver.Value, n)
	for i := range keys {
		switch {
		case k.rule.Integer:
			keys[i] = keysource.Integers(0, 1, k.layout)[0]
		case k.text:
			keys[i] = strings.Repeat("0", cmp.Or(k.width(), dummyText))
		default:
			keys[i] = k.layout.Value([16]byte{})
		}
	}
	return keys
}

// dummyText is the length in characters of what stands for a text key: a ULID's.
const dummyText = 26
