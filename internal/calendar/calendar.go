package calendar

import (
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Every is the length of the periods of a calendar, in the words of the policy.
type Every string

// The lengths of periods.
const (
	Day     Every = "day"
	Month   Every = "month"
	Quarter Every = "quarter"
	Year    Every = "year"
)

// Calendar divides time into periods. It never changes and is safe for concurrent use. [New]
// makes one; the methods of the zero value return errors.
type Calendar struct {
	every Every
	month time.Month // years begin in this month
	day   int        // years, quarters and months begin on this day of a month
	zone  *time.Location
}

// New returns the calendar whose periods are of the given length, as a policy describes it.
//
// starts is the day on which years begin, as month and day: "04-01"; empty is 01-01. Quarters
// and months begin on the same day of their months. zone is a name of the IANA time zone
// database, such as "Europe/Berlin"; empty is UTC.
//
// It returns an error that says what to change: for another length; for a day that not each
// year, quarter or month has, such as 02-29; for "Local", which differs from machine to
// machine; and for a zone that this machine does not know.
func New(every Every, starts, zone string) (Calendar, error) {
	c := Calendar{every: every, month: time.January, day: 1, zone: time.UTC}
	switch every {
	case Day, Month, Quarter, Year:
	default:
		return Calendar{}, anchor.Errorf("policy", "the period %q is not known; take day, month, quarter or year", string(every))
	}
	if starts != "" {
		var err error
		if c.month, c.day, err = parseStarts(starts); err != nil {
			return Calendar{}, err
		}
		if err := c.checkStarts(); err != nil {
			return Calendar{}, err
		}
	}
	if zone != "" {
		var err error
		if c.zone, err = loadZone(zone); err != nil {
			return Calendar{}, err
		}
	}
	return c, nil
}

// parseStarts reads a month and a day of the form 04-01.
func parseStarts(text string) (time.Month, int, error) {
	// 2000 is a leap year, so 02-29 is read here and refused for what it is.
	t, err := time.Parse(time.DateOnly, "2000-"+text)
	if err != nil {
		return 0, 0, anchor.Errorf("policy", "starts %q is no day of the year; write month and day, such as 04-01", text)
	}
	return t.Month(), t.Day(), nil
}

// checkStarts returns an error if a year, quarter or month that is to begin on the
// calendar's day of the month lacks that day.
func (c Calendar) checkStarts() error {
	step := 12
	switch c.every {
	case Quarter:
		step = 3
	case Month:
		step = 1
	}
	for months := 0; months < 12; months += step {
		// 2001 is no leap year.
		if first := date(2001, c.month+time.Month(months), c.day); first.Day() != c.day {
			return anchor.Errorf("policy", "starts %s is a day that not each %s has; write an earlier one, such as %s", c.Starts(), c.unit(), c.Starts()[:3]+"28")
		}
	}
	return nil
}

// unit returns the word for what begins on the day of starts: the shortest of year, quarter
// and month that is not shorter than a period.
func (c Calendar) unit() Every {
	if c.every == Day {
		return Year
	}
	return c.every
}

// loadZone returns a time zone by its name.
func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, anchor.New("policy", "zone Local differs from machine to machine; write a name such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, anchor.Errorf("policy", "zone %q is not known to this machine; write a name such as Europe/Berlin, or install tzdata", name)
	}
	return zone, nil
}

// Every returns the length of the periods; it is empty for the zero Calendar.
func (c Calendar) Every() Every { return c.every }

// Starts returns the day on which years begin, as month and day: "04-01".
func (c Calendar) Starts() string { return fmt.Sprintf("%02d-%02d", c.month, c.day) }

// IsFiscal reports whether years begin on another day than the first of January.
func (c Calendar) IsFiscal() bool { return c.month != time.January || c.day != 1 }

// Zone returns the name of the time zone: "UTC", "Europe/Berlin".
func (c Calendar) Zone() string { return c.zone.String() }
