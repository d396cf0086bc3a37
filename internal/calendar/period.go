package calendar

import (
	"fmt"
	"strconv"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Period is one period of a [Calendar].
type Period struct {
	Name string // see the package comment

	// First is the first day of the period, and After the first day after it. Both are
	// dates: midnight in UTC, whatever the zone of the calendar is.
	First, After time.Time

	// Begin and End are the instants, in UTC, between which the period lies in the zone of the
	// calendar: it has Begin, and not End. They are equal if the zone has left the period out.
	Begin, End time.Time

	// Year is the calendar year in which the year of the period begins: 2025 for January 2026
	// if years begin in April. Quarter is the quarter of that year in which First lies, 1 to 4.
	Year    int
	Quarter int
}

// Has reports whether an instant belongs to the period.
func (p Period) Has(t time.Time) bool { return !t.Before(p.Begin) && t.Before(p.End) }

// The errors of dates. They hold no date, which may come from an argument.
var (
	errRange = anchor.New("period", "the date is in no period: write one of the years 1 to 9999")
	errDate  = anchor.New("period", "the date is no day of the calendar: write it as YYYY-MM-DD")
	errNone  = anchor.New("period", "the table's numbers have no periods: write a period into the policy")
)

// At returns the period of an instant. It returns an error if its name would need a year
// before 1 or after 9999.
func (c Calendar) At(t time.Time) (Period, error) {
	if c.every == "" {
		return Period{}, errNone
	}
	p, err := c.of(date(t.In(c.zone).Date()))
	// The zone may show a date that does not begin yet, where clocks are put back over midnight.
	for err == nil && t.Before(p.Begin) {
		p, err = c.of(p.First.AddDate(0, 0, -1))
	}
	for err == nil && !t.Before(p.End) {
		p, err = c.of(p.After)
	}
	return p, err
}

// On returns the period of a date. The result of [time.Time.Date] can be passed as it is. It
// returns an error for a day that does not exist, such as 02-30, and for a date of a year
// before 1 or after 9999. The error does not hold the date.
func (c Calendar) On(year int, month time.Month, day int) (Period, error) {
	if year < 1 || year > 9999 {
		return Period{}, errRange
	}
	d := date(year, month, day)
	if d.Year() != year || d.Month() != month || d.Day() != day {
		return Period{}, errDate
	}
	return c.of(d)
}

// OnText returns the period of a date of the form YYYY-MM-DD. It returns the errors of
// [Calendar.On], and one for another form.
func (c Calendar) OnText(text string) (Period, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Period{}, errDate
	}
	return c.On(t.Date())
}

// Next returns the period after p, which is a period of the calendar.
func (c Calendar) Next(p Period) (Period, error) { return c.of(p.After) }

// Parse returns the period that has a name: see the package comment for their forms. It
// returns an error, which holds the name, for another form and for a name of no period.
func (c Calendar) Parse(name string) (Period, error) {
	var p Period
	err := errNone
	switch c.every {
	case Year:
		var t time.Time
		if t, err = time.Parse("2006", name); err == nil {
			p, err = c.of(date(t.Year(), c.month, c.day))
		}
	case Quarter:
		var t time.Time
		quarter := 0
		if len(name) == len("2026-Q3") {
			t, err = time.Parse("2006-Q", name[:6])
			quarter, _ = strconv.Atoi(name[6:])
		}
		if err == nil {
			p, err = c.of(date(t.Year(), c.month+time.Month(3*quarter-3), c.day))
		}
	case Month:
		var t time.Time
		if t, err = time.Parse("2006-01", name); err == nil {
			p, err = c.of(date(t.Year(), t.Month(), c.day))
		}
	case Day:
		p, err = c.OnText(name)
	}
	if c.every == "" {
		return Period{}, errNone
	}
	if err != nil || p.Name != name {
		return Period{}, anchor.Errorf("period", "%q is no period: write a %s such as %s", name, c.every, example[c.every])
	}
	return p, nil
}

// example has a name of a period of each length.
var example = map[Every]string{Year: "2026", Quarter: "2026-Q3", Month: "2026-11", Day: "2026-11-28"}

// of returns the period of a date, which is midnight in UTC.
func (c Calendar) of(d time.Time) (Period, error) {
	if c.every == "" {
		return Period{}, errNone
	}
	p := Period{First: d, Year: d.Year()}
	if d.Before(c.yearStart(p.Year, 0)) {
		p.Year--
	}
	for p.Quarter = 1; p.Quarter < 4 && !d.Before(c.yearStart(p.Year, 3*p.Quarter)); {
		p.Quarter++
	}
	named := p.Year
	switch c.every {
	case Year:
		p.First, p.After = c.yearStart(p.Year, 0), c.yearStart(p.Year, 12)
		p.Name, p.Quarter = fmt.Sprintf("%04d", p.Year), 1
	case Quarter:
		p.First, p.After = c.yearStart(p.Year, 3*p.Quarter-3), c.yearStart(p.Year, 3*p.Quarter)
		p.Name = fmt.Sprintf("%04d-Q%d", p.Year, p.Quarter)
	case Month:
		p.First = date(d.Year(), d.Month(), c.day)
		if d.Before(p.First) {
			p.First = date(d.Year(), d.Month()-1, c.day)
		}
		p.After = date(p.First.Year(), p.First.Month()+1, c.day)
		p.Name, named = p.First.Format("2006-01"), p.First.Year()
	case Day:
		p.After = d.AddDate(0, 0, 1)
		p.Name, named = d.Format(time.DateOnly), d.Year()
	}
	if named < 1 || named > 9999 || p.First.Year() > 9999 {
		return Period{}, errRange
	}
	p.Begin, p.End = beginOf(p.First, c.zone), beginOf(p.After, c.zone)
	return p, nil
}

// yearStart returns the day that lies so many months after the first day of a year. If a
// month lacks the day, it is the first day of the next month: only quarters of days and
// years are counted so, since no period begins there.
func (c Calendar) yearStart(year, months int) time.Time {
	return date(year, c.month+time.Month(months), c.day)
}

// date returns a date as midnight in UTC.
func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// beginOf returns the first instant from which on a zone shows no date before d.
//
// It looks at the spans between changes of the zone's offset, from the latest to the
// earliest one that may matter: time.Date does not say which of two offsets it takes for a
// midnight that does not exist, or exists twice.
func beginOf(d time.Time, zone *time.Location) time.Time {
	t := d.Add(48 * time.Hour).In(zone) // no offset is so large that this could be before d
	end := t
	for {
		_, offset := t.Zone()
		from, _ := t.ZoneBounds()
		midnight := d.Add(-time.Duration(offset) * time.Second)
		switch {
		case !midnight.Before(end):
			return end.UTC() // the offset changes before midnight, to a later date
		case from.IsZero() || midnight.After(from):
			return midnight
		}
		end, t = from, from.Add(-1)
	}
}
