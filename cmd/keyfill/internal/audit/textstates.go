package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// readStates reads the states (stored counters) of all parents and periods.
func (p *reading) readStates() error {
	if p.states == "" {
		return p.notCompared()
	}
	var next int64
	var parameters sql.NullString
	err := p.tx.QueryRowContext(p.ctx, "SELECT next_value, parameters FROM "+p.states+" WHERE name = "+p.dialect.Placeholder(1), p.state).Scan(&next, &parameters)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return p.notCompared()
	case err != nil:
		return err
	case parameters.String != p.texts.parameters:
		return fmt.Errorf("the row %s of keyfill_sequences says %q, and the policy %q: take the policy of the programs", p.state, parameters.String, p.texts.parameters)
	}
	p.compared = true
	if p.texts.scope == nil {
		p.sum.Next = next
		return p.spool.add(p.ctx, &spooled{name: p.state, next: next, template: p.texts.template.String()})
	}
	rows, err := p.tx.QueryContext(p.ctx, "SELECT name, next_value, parameters FROM "+p.states+" WHERE parameters LIKE "+p.dialect.Placeholder(1), scope.ParentParameters+"%")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name, &next, &parameters); err != nil {
			return err
		}
		if one := p.stateIn(name, next, parameters.String); one != nil {
			if err := p.addTemplate(one); err != nil {
				return err
			}
			if err := p.spool.add(p.ctx, one); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// stateIn returns a row of keyfill_sequences as a state of the audited numbers; nil if it is
// none, or gives no number.
func (p *reading) stateIn(name string, next int64, parameters string) *spooled {
	if !p.texts.hasPeriods() {
		list, isOurs := strings.CutPrefix(name, p.state+"[")
		parent, whole := strings.CutSuffix(list, "]")
		if !isOurs || !whole || parameters != scope.ParentParameters {
			return nil
		}
		return &spooled{name: name, next: next, template: p.texts.template.String(), parent: parent}
	}
	row, isOne := p.texts.scope.ReadPeriodRow(name, next, parameters)
	if !isOne || row.Parent == "" && len(p.parents) > 0 {
		return nil
	}
	return &spooled{name: name, next: row.Next, template: row.Template, parent: row.Parent, period: row.Period.Name}
}

// addTemplate adds the template of a state to those by which texts are read.
func (p *reading) addTemplate(s *spooled) error {
	if s.template == "" || slices.ContainsFunc(p.templates, func(t *numberformat.Template) bool { return t.String() == s.template }) {
		return nil
	}
	t, err := numberformat.Parse(s.template)
	if err != nil {
		return fmt.Errorf("%w: put the template in the row %s of keyfill_sequences back as keyfill has written it", err, s.name)
	}
	p.templates = append(p.templates, t)
	return nil
}

// findState finds the state of a numbering of the parent that is read.
func (p *reading) findState(n *numbers) (err error) {
	switch {
	case p.texts.scope == nil:
		n.name = p.state
	case !haveState(p.within):
		return nil
	case p.texts.hasPeriods():
		n.name = p.texts.scope.PeriodRowFor(p.within, n.period.Name)
	default:
		n.name = p.texts.scope.RowFor(p.within)
	}
	n.state, err = p.spool.find(p.ctx, n.name)
	return err
}

// leftState reports a state that has no rows. It must not use the spool.
func (p *reading) leftState(s *spooled) error {
	var values []any
	if len(p.parents) > 0 {
		if all, whole := parentValues(s.parent + "]"); whole && len(all) == len(p.parents) {
			values = all
		}
	}
	w := &walk{begin: p.begin(), next: s.next, strict: p.Strict, found: func(f Finding) error {
		f.Period = s.period
		return p.found(f)
	}}
	if values != nil {
		w.parent = p.named(values)
	}
	switch {
	case s.next <= w.begin:
		return nil
	case p.texts.scope == nil || !w.strict:
		return p.end(w)
	case p.texts.hasPeriods():
		if period, err := p.texts.calendar.Parse(s.period); err == nil {
			p.notePeriod(period) // it is no hole beside this finding
		}
		return w.find(rulePeriod, severityError, w.begin, s.next-1, 0, "no row is left, and the state %s has given the numbers %d to %d", s.name, w.begin, s.next-1)
	}
	return w.find(ruleTail, severityInfo, w.begin, s.next-1, 0, "no row is left, and the state %s goes on at %d", s.name, s.next)
}
