package audit

import (
	"fmt"
	"strconv"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
)

// numbers are the numbers of one parent in one period.
type numbers struct {
	*walk
	template *numberformat.Template
	period   calendar.Period
	state    *spooled // nil if it has none, or if none is compared
	name     string   // of the state
	fit      fit
	taken    bool

	latest      string // the latest date of a row, and its number
	latestOf    int64
	older       int64 // rows with an earlier date than a lower number; firstOlder and lastOlder are their numbers
	firstOlder  int64
	lastOlder   int64
	olderBefore string // the text of the finding about the first of them
}

// fit says how well a text fits a numbering. Templates of several periods may read one text
// in different ways.
type fit uint8

const (
	fitsOther  fit = iota // a numbering of another value, which this audit leaves out
	fitsOld               // the period has no state, and the template is the one of another period
	fitsPolicy            // the period has no state, or one that has given no number, and the template is the policy's
	fitsState             // the template is the period's
)

// maxKnown is how many texts without their number are remembered.
const maxKnown = 10_000

// resolve returns the numbering to which a text belongs, and its number there; nil if the
// text belongs to none.
func (p *reading) resolve(text string) (best *numbers, number int64, err error) {
	for i, t := range p.templates {
		n, rest, isOne := t.Read(text)
		if !isOne {
			continue
		}
		key := strconv.Itoa(i) + " " + rest
		one, isKnown := p.known[key]
		if !isKnown {
			if one, err = p.meet(t, text); err != nil {
				return nil, 0, err
			}
			if len(p.known) >= maxKnown {
				clear(p.known)
			}
			p.known[key] = one
		}
		if one != nil && (best == nil || one.suits(n) > best.suits(number)) {
			best, number = one, n
		}
	}
	return best, number, nil
}

// suits returns how well a number fits the numbering: better if the state has given it.
func (n *numbers) suits(number int64) int {
	suits := 2 * int(n.fit)
	if n.state != nil && number < n.state.next {
		suits++
	}
	return suits
}

// meet returns the numbering of a text that a template reads; nil if the text shows another
// parent or table, no period, or a period that has another template.
func (p *reading) meet(t *numberformat.Template, text string) (*numbers, error) {
	shown, isOne := t.Shown(text)
	if !isOne {
		return nil, nil
	}
	one := &numbers{template: t}
	parts := numberformat.Parts{Schema: shown.Schema, Table: shown.Table, Values: shown.Values}
	if shown.Schema != "" && shown.Schema != p.texts.schema || shown.Table != "" && shown.Table != p.texts.table {
		return nil, nil
	}
	if p.parents != nil {
		parts.Columns = map[string]string{}
	}
	for i, name := range p.parents {
		parts.Columns[name] = fmt.Sprint(p.within[i])
	}
	for name, value := range shown.Columns {
		if value != parts.Columns[name] {
			return nil, nil
		}
	}
	for name, value := range shown.Values {
		if value != p.texts.values[name] {
			return one, nil // it is of another state
		}
	}
	if p.texts.hasPeriods() {
		if one.period, isOne = shown.Period(p.texts.calendar); !isOne {
			return nil, nil
		}
		parts.Period = one.period
	}
	if err := p.findState(one); err != nil {
		return nil, err
	}
	isPolicys := t == p.templates[0]
	switch {
	case one.state == nil && isPolicys:
		one.fit = fitsPolicy
	case one.state == nil:
		one.fit = fitsOld
	case one.state.template == "":
		if one.fit = fitsOld; isPolicys {
			one.fit = fitsPolicy
		}
	case one.state.template != t.String():
		return nil, nil
	default:
		one.fit = fitsState
	}
	key := one.period.Name + "\x00" + t.String()
	if before, isOpen := p.open[key]; isOpen {
		return before, nil // it was forgotten
	}
	return one, p.start(one, key, parts)
}

// start begins the comparison of a numbering.
func (p *reading) start(n *numbers, key string, parts numberformat.Parts) error {
	form, err := n.template.Within(numberformat.Bounds{})
	if err != nil {
		return err
	}
	w := &walk{begin: p.begin(), strict: p.Strict, parent: p.named(p.within)}
	if n.state != nil {
		w.next = n.state.next
	}
	w.text = func(number int64) string {
		parts := parts
		parts.Number = number
		if text, err := form.Text(&parts); err == nil {
			return text
		}
		return "number " + strconv.FormatInt(number, 10)
	}
	w.found = func(f Finding) error {
		f.Period = n.period.Name
		if f.From > 0 {
			f.FromText, f.ToText = w.text(f.From), w.text(f.To)
		}
		return p.found(f)
	}
	n.walk = w
	p.open[key] = n
	p.order = append(p.order, key)
	return nil
}

// take says that the state of a numbering has rows, or cancelled numbers.
func (p *reading) take(n *numbers) error {
	if n.taken {
		return nil
	}
	n.taken = true
	p.sum.Numberings++
	p.notePeriod(n.period)
	switch {
	case n.state != nil:
		return p.spool.take(p.ctx, n.name)
	case p.compared:
		if p.stateless == 0 {
			p.lacking = n.name
		}
		p.stateless++
	}
	return nil
}

// endNumbering ends the comparison of a numbering.
func (p *reading) endNumbering(n *numbers) error {
	if !n.taken {
		return nil // another template has read its texts
	}
	if err := p.end(n.walk); err != nil || n.older == 0 {
		return err
	}
	return n.find(ruleOrder, severityInfo, n.firstOlder, n.lastOlder, n.older, "%s with an earlier date than a lower number, first %s", terminal.Count(int(n.older), "row"), n.olderBefore)
}
