package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
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
