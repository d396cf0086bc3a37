package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// reading reads the texts of a column, and compares the numbers in them.
//
// The database sorts the rows by their parents, then by the length of the text, then by its
// bytes. Texts of one numbering (of one parent and one period) differ in the number alone,
// and in check digits after it, so that each numbering comes in the order of its numbers.
// Several periods of a parent may come in turns: each has a walk of its own.
type reading struct {
	*run
	spool     *spool
	templates []*numberformat.Template // the policy's, and then the states' templates

	within []any               // the values of the parent whose rows are read
	known  map[string]*numbers // what texts without their number belong to; nil for nothing
	open   map[string]*numbers // the numberings of the parent that have rows, by their period and template
	order  []string            // the keys of open, as they came

	periods map[string]calendar.Period // those that findHoles looks at, by their names

	strange     string // a text that belongs to no numbering; see strangers
	strangeRows int64
	strangers   bool

	compared  bool   // whether the states are here
	stateless int64  // numberings without a state
	lacking   string // the name of the first state that is not there
}

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

// compareTexts is compare for numbers that are written as texts.
func (r *run) compareTexts() (err error) {
	p := &reading{run: r, templates: []*numberformat.Template{r.texts.template}, known: map[string]*numbers{}, open: map[string]*numbers{}, periods: map[string]calendar.Period{}}
	if p.spool, err = newSpool(r.ctx); err != nil {
		return fmt.Errorf("%w: give this user a temporary folder in which it may write, as in TMPDIR", err)
	}
	defer func() { err = errors.Join(err, p.spool.close()) }()
	if err := p.readStates(); err != nil {
		return err
	}
	if err := p.readRows(); err != nil {
		return err
	}
	if err := p.spool.left(r.ctx, p.leftState); err != nil {
		return err
	}
	if err := p.findHoles(); err != nil {
		return err
	}
	if p.stateless > 0 {
		return r.found(Finding{Rule: ruleState, Severity: severityInfo, Rows: p.stateless,
			Message: fmt.Sprintf("the states of %s were not compared: keyfill_sequences has no row %s", terminal.Count(int(p.stateless), "numbering"), p.lacking)})
	}
	return nil
}

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

// textQuery returns the query of all texts; see reading. A row of its answer has the values
// of the parent, the text, the date, and 1 if the number is cancelled.
func (p *reading) textQuery() string {
	e := engines[p.dialect.Family]
	var all, order []string
	for i := range p.parents {
		name := "p" + strconv.Itoa(i)
		if p.isText[i] {
			name = fmt.Sprintf(e.bytes, name)
		}
		order = append(order, name)
	}
	for i, c := range append(p.columns, p.cancelledColumns()...) {
		var b strings.Builder
		b.WriteString("SELECT ")
		for k, parent := range c.parents {
			if p.isText[k] {
				parent = asText(p.dialect, parent)
			}
			fmt.Fprintf(&b, "%s AS p%d, ", parent, k)
		}
		date := c.date
		if date == "" {
			date = "NULL"
		}
		fmt.Fprintf(&b, "%s AS n, %s AS d, %d AS void FROM %s WHERE NOT (%s)", asText(p.dialect, c.number), date, i/len(p.columns), c.table, p.none(c))
		all = append(all, b.String())
	}
	order = append(order, fmt.Sprintf(e.length, "n"), fmt.Sprintf(e.bytes, "n"), "void")
	return "SELECT * FROM (" + strings.Join(all, " UNION ALL ") + ") numbers ORDER BY " + strings.Join(order, ", ")
}

// readRows reads the texts of all parents, one parent after the other.
func (p *reading) readRows() error {
	rows, err := p.tx.QueryContext(p.ctx, p.textQuery())
	if err != nil {
		return err
	}
	defer rows.Close()
	var text string
	var date sql.NullString
	var void int
	values := make([]any, len(p.parents))
	into := make([]any, 0, len(values)+3)
	for i := range values {
		into = append(into, &values[i])
	}
	into = append(into, &text, &date, &void)
	for n := int64(1); rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if n == 1 || !sameValues(values, p.within) {
			if err := p.endParent(); err != nil {
				return err
			}
			p.within = plainValues(values)
		}
		if err := p.add(text, date, void == 1); err != nil {
			return err
		}
		if n%shownRows == 0 {
			p.shown(n)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return p.endParent()
}

// add compares a row, or a cancelled number.
func (p *reading) add(text string, date sql.NullString, void bool) error {
	one, number, err := p.resolve(text)
	switch {
	case err != nil:
		return err
	case one == nil:
		return p.addStranger(text, void)
	case one.fit == fitsOther:
		return nil
	}
	if err := p.take(one); err != nil {
		return err
	}
	if err := one.add(number, void); err != nil {
		return err
	}
	if void {
		return nil
	}
	p.note(number)
	return p.compareDate(one, number, date)
}

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

// addStranger counts a row, or a cancelled number, whose text belongs to no numbering. Equal
// texts come one after the other.
func (p *reading) addStranger(text string, void bool) error {
	if p.strangers && text != p.strange {
		if err := p.tellStranger(); err != nil {
			return err
		}
	}
	p.strangers, p.strange = true, text
	if !void {
		p.strangeRows++
	}
	return nil
}

// maxShownText is how many bytes of a text that belongs to no numbering are shown.
const maxShownText = 100

// tellStranger reports the text that was counted last.
func (p *reading) tellStranger() error {
	if !p.strangers {
		return nil
	}
	shown := strings.ToValidUTF8(p.strange[:min(len(p.strange), maxShownText)], "?")
	rows := terminal.Count(int(p.strangeRows), "row")
	if p.strangeRows == 0 {
		rows = "cancelled"
	}
	f := Finding{Rule: ruleText, Severity: severityError, Parent: p.named(p.within), FromText: shown, ToText: shown, Rows: p.strangeRows,
		Message: fmt.Sprintf("%q is no text of %s (%s)", shown, p.written(), rows)}
	p.strangers, p.strangeRows = false, 0
	return p.found(f)
}

// written returns the templates as findings name them.
func (p *reading) written() string {
	if len(p.templates) == 1 {
		return p.templates[0].String()
	}
	return fmt.Sprintf("%s, or of its period's template", p.templates[0])
}

// endParent ends the comparison of the rows of the parent that is read.
func (p *reading) endParent() error {
	if err := p.tellStranger(); err != nil {
		return err
	}
	slices.Sort(p.order)
	for _, key := range p.order {
		if err := p.endNumbering(p.open[key]); err != nil {
			return err
		}
	}
	clear(p.known)
	clear(p.open)
	p.order = p.order[:0]
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

// notePeriod adds a period to those that findHoles looks at. Parents come and go, and many
// days have no number: there are no holes between these.
func (p *reading) notePeriod(one calendar.Period) {
	if p.texts.hasPeriods() && p.parents == nil && p.texts.calendar.Every() != calendar.Day {
		p.periods[one.Name] = one
	}
}

// findHoles reports periods without a number between two that have some.
func (p *reading) findHoles() error {
	names := slices.Sorted(maps.Keys(p.periods))
	for i := 1; i < len(names); i++ {
		from, err := p.texts.calendar.Next(p.periods[names[i-1]])
		if err != nil {
			return err
		}
		if from.Name == names[i] {
			continue
		}
		to, err := p.texts.calendar.On(p.periods[names[i]].First.AddDate(0, 0, -1).Date())
		if err != nil {
			return err
		}
		hole := from.Name
		if to.Name != from.Name {
			hole += " to " + to.Name
		}
		err = p.found(Finding{Rule: rulePeriod, Severity: severityInfo, Period: from.Name, Message: "no number is of " + hole})
		if err != nil {
			return err
		}
	}
	return nil
}
