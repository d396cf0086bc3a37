package audit

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// texts says how the numbers of a state (a stored counter) are written as texts such as
// INV-2026-00042, and when they begin again.
type texts struct {
	template   *numberformat.Template // the policy's
	calendar   calendar.Calendar      // zero if the numbers never begin again
	scope      *scope.Scope           // names the rows of parents and periods in keyfill_sequences; nil if there are none
	parameters string                 // what the row of the state says of them
	values     map[string]string      // the values in the name of the state, which the texts show

	schema, table string // what {schema} and {table} show
}

// findTexts reads how the numbers of the audited column are written; found is its table.
func (a *Audit) findTexts(found *catalog.Table, values map[string]string) error {
	src := a.key.Source
	if src.Format == "" {
		return nil
	}
	shape, err := src.Mapping(a.state, a.key.MaxBits)
	if err != nil {
		return err
	}
	k := &table.Column{Rule: a.key, Name: a.key.Column, Shape: shape}
	x := &texts{template: k.Texts().Template, values: values, schema: found.Schema, table: found.Name}
	x.parameters = x.template.Parameters()
	if src.Scope != nil || src.Period.Every != "" {
		row := sequence.Sequence{Name: a.state, Columns: []store.Column{{Table: found.Name, Name: a.key.Column}}}
		rows, err := numbering.ScopeRowsOf(a.dialect, found, k, &row)
		if err != nil {
			return err
		}
		x.scope, x.parameters = &rows.Scope, row.Parameters
		if rows.Scope.Periods != nil {
			x.calendar = rows.Scope.Periods.Calendar
		}
	}
	a.texts = x
	return nil
}

// hasPeriods reports whether the numbers begin again.
func (x *texts) hasPeriods() bool { return x.calendar.Every() != "" }

// showsTable reports whether the texts differ by the table.
func (x *texts) showsTable() bool {
	s, isOne := x.template.Shown(x.example())
	return isOne && s.Schema+s.Table != ""
}

// example returns a text of the template, for which the fields that depend on a row are
// some text.
func (x *texts) example() string {
	p := numberformat.Parts{Number: 1, Schema: "x", Table: "x", Values: map[string]string{}, Columns: map[string]string{}}
	for _, name := range x.template.Values() {
		p.Values[name] = "x"
	}
	for _, name := range x.template.Columns() {
		p.Columns[name] = "x"
	}
	if x.hasPeriods() {
		p.Period, _ = x.calendar.Parse(map[calendar.Every]string{calendar.Year: "2026", calendar.Quarter: "2026-Q1", calendar.Month: "2026-01", calendar.Day: "2026-01-15"}[x.calendar.Every()])
	}
	text, _ := x.template.Text(&p)
	return text
}

// stateOf returns the name of the audited state (a stored counter), with the values that the
// user has named.
func (a *Audit) stateOf(o *Options) (string, error) {
	if len(a.key.Values) == 0 {
		return a.key.StateFor(nil)
	}
	shown := numberformat.Numbering{Values: a.key.Values}
	t, err := numberformat.Parse(a.key.Source.Format)
	if a.key.Source.Format == "" || err != nil || t.Apart(shown) != nil {
		return "", fmt.Errorf("%s has a state for each value of %s, which its rows do not show: name a table with one state", o.Table, strings.Join(a.key.Values, ", "))
	}
	for _, name := range a.key.Values {
		if o.Values[name] == "" {
			return "", usage.Errorf("%s has a state for each value of %s: say --value %[2]s=…", o.Table, name)
		}
	}
	return a.key.StateFor(o.value)
}

func (o *Options) value(name string) (string, bool) {
	v, ok := o.Values[name]
	return v, ok
}

// dateOf returns the expression for the date of a row as text; empty if the policy names no
// column for it.
func (a *Audit) dateOf(found *catalog.Table) (string, error) {
	if a.key.PeriodColumn == "" {
		return "", nil
	}
	// The column was compared with what a date needs by findTexts.
	c := found.Column(a.dialect, a.key.PeriodColumn)
	if c == nil {
		return "", fmt.Errorf("%s has no column %s, whose date says the period: add it", found.Name, a.key.PeriodColumn)
	}
	e := engines[a.dialect.Family]
	name := a.dialect.QuoteIdent(c.Name)
	if c.Text {
		return fmt.Sprintf(e.text, name), nil
	}
	return fmt.Sprintf(e.date, name), nil
}

// isFormatted reports whether the numbers of a key column are texts of a template.
func isFormatted(k policy.RuleKey) bool {
	return k.Source.Kind == policy.KindSequence && k.Source.Format != ""
}

// asText returns the expression for a column as text.
func asText(d *dialect.Dialect, column string) string {
	return fmt.Sprintf(engines[d.Family].text, column)
}
