package numberformat

import (
	"fmt"
	"strconv"

	"github.com/keyfill/keyfill/internal/calendar"
)

// Shown is what a text shows. A field that the template does not have is zero.
type Shown struct {
	Number              int64
	Year                int // of {year} or {yy}: the year in which the period begins
	FiscalYear          int // of {fy}: the year in which the year of the period begins
	Quarter, Month, Day int
	Schema, Table       string
	Values, Columns     map[string]string
}

// Shown returns what a text shows. It returns false for a text that Read refuses.
func (t *Template) Shown(text string) (s Shown, isOne bool) {
	if s.Number, _, isOne = t.Read(text); !isOne {
		return s, false
	}
	found := t.form().FindStringSubmatch(text)
	group := 1
	for _, f := range t.fields {
		if f.kind == kindText {
			continue
		}
		part := found[group]
		group++
		switch f.kind {
		case kindYear:
			s.Year, _ = strconv.Atoi(part)
		case kindYY:
			if !t.hasKind(kindYear) {
				s.Year, _ = strconv.Atoi("20" + part)
			}
		case kindFY:
			s.FiscalYear, _ = strconv.Atoi(part[:4])
		case kindQuarter:
			s.Quarter, _ = strconv.Atoi(part)
		case kindMonth:
			s.Month, _ = strconv.Atoi(part)
		case kindDay:
			s.Day, _ = strconv.Atoi(part)
		case kindSchema:
			s.Schema = part
		case kindTable:
			s.Table = part
		case kindValue:
			s.Values = with(s.Values, f.text, part)
		case kindColumn:
			s.Columns = with(s.Columns, f.text, part)
		}
	}
	return s, true
}

// with returns a map, which is made if it is nil, with one more value.
func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

// Period returns the period of a calendar that begins with the year, the quarter, the month
// and the day that are shown; false if there is none. The text of a template that Determines
// the numbers of the calendar's periods shows one period.
func (s *Shown) Period(c calendar.Calendar) (calendar.Period, bool) {
	year := s.Year
	if year == 0 {
		year = s.FiscalYear
	}
	// A year that begins later than in January is named by its first calendar year, and has
	// periods in the next one.
	for _, y := range []int{year, year - 1, year + 1} {
		var name string
		switch c.Every() {
		case calendar.Year:
			name = fmt.Sprintf("%04d", y)
		case calendar.Quarter:
			name = fmt.Sprintf("%04d-Q%d", y, s.Quarter)
		case calendar.Month:
			name = fmt.Sprintf("%04d-%02d", y, s.Month)
		case calendar.Day:
			name = fmt.Sprintf("%04d-%02d-%02d", y, s.Month, s.Day)
		}
		if p, err := c.Parse(name); err == nil && s.fits(p) {
			return p, true
		}
	}
	return calendar.Period{}, false
}

// fits reports whether a period begins as is shown.
func (s *Shown) fits(p calendar.Period) bool {
	return (s.Year == 0 || s.Year == p.First.Year()) && (s.FiscalYear == 0 || s.FiscalYear == p.Year) &&
		(s.Quarter == 0 || s.Quarter == p.Quarter) &&
		(s.Month == 0 || s.Month == int(p.First.Month())) && (s.Day == 0 || s.Day == p.First.Day())
}
