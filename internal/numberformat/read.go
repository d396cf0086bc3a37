package numberformat

import (
	"strconv"

	"github.com/keyfill/keyfill/internal/calendar"
)

// PartsOf returns what a text shows: its number, its period, and the values and columns that
// are in it. every is the calendar of the numbering; nil if numbers never begin again. It
// returns false for a text that the template does not give. {schema} and {table} are not
// compared with a table.
func (t *Template) PartsOf(text string, every *calendar.Calendar) (p Parts, isOne bool) {
	if p.Number, _, isOne = t.Read(text); !isOne {
		return p, false
	}
	p.Values, p.Columns = map[string]string{}, map[string]string{}
	year := 0
	found := t.form().FindStringSubmatch(text)
	group := 0
	for _, f := range t.fields {
		if f.kind == kindText {
			continue
		}
		group++
		switch part := found[group]; f.kind {
		case kindYear:
			year, _ = strconv.Atoi(part)
		case kindYY:
			year, _ = strconv.Atoi("20" + part)
		case kindFY:
			year, _ = strconv.Atoi(part[:4])
		case kindSchema:
			p.Schema = part
		case kindTable:
			p.Table = part
		case kindValue:
			p.Values[f.text] = part
		case kindColumn:
			p.Columns[f.text] = part
		}
	}
	if every == nil {
		return p, true
	}
	return t.inPeriod(text, p, year, every)
}

// inPeriod adds the period to p whose text is the given one. It begins in the year, or in the
// one after it: {fy} shows the year in which a fiscal year begins.
func (t *Template) inPeriod(text string, p Parts, year int, every *calendar.Calendar) (Parts, bool) {
	one, err := every.On(max(year, 1), 1, 1)
	for err == nil && one.First.Year() <= year+1 {
		p.Period = one
		if again, err := t.Text(&p); err == nil && again == text {
			return p, true
		}
		one, err = every.Next(one)
	}
	return p, false
}
