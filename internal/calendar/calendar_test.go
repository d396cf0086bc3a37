package calendar_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/calendar"
)

var update = flag.Bool("update", false, "write what the calendars give into testdata/periods.txt")

// golden is the table of periods. A line has a calendar (length, starts, zone), an instant, a
// date or a name, and the period or an error, with two spaces or more between them.
var golden = filepath.Join("testdata", "periods.txt")

// made returns the calendar of a cell such as "year 04-01 Europe/Berlin".
func made(cell string) (calendar.Calendar, error) {
	words := append(strings.Fields(cell), "", "")
	for i := range words {
		if words[i] == "-" {
			words[i] = ""
		}
	}
	return calendar.New(calendar.Every(words[0]), words[1], words[2])
}

// judged returns the period of a cell such as "at 2026-01-01T00:00:00Z", "on 2026-01-01" or
// "named 2026", or why there is none.
func judged(of, cell string) string {
	c, err := made(of)
	if err != nil {
		return "refused: " + err.Error()
	}
	var p calendar.Period
	switch how, what, _ := strings.Cut(cell, " "); how {
	case "at":
		var t time.Time
		if t, err = time.Parse(time.RFC3339Nano, what); err == nil {
			p, err = c.At(t)
		}
	case "on":
		p, err = c.OnText(what)
	case "named":
		p, err = c.Parse(what)
	default:
		return "the table says at, on or named"
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%s  days %s to %s, from %s to %s, Q%d of %04d", p.Name, p.First.Format(time.DateOnly), p.After.Format(time.DateOnly),
		p.Begin.Format(time.RFC3339), p.End.Format(time.RFC3339), p.Quarter, p.Year)
}

// TestPeriods: each line of the golden table has the period or the error that stands there.
func TestPeriods(t *testing.T) {
	table, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(string(table), "\n"), "\n") {
		cells := strings.SplitN(line, "  ", 3)
		if strings.HasPrefix(line, "#") || len(cells) < 2 {
			out.WriteString(line + "\n")
			continue
		}
		row := cells[0] + "  " + cells[1] + "  " + judged(cells[0], cells[1])
		if row != line && !*update {
			t.Errorf("got  %s\nwant %s", row, line)
		}
		out.WriteString(row + "\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// zones are the time zones in which the laws are tried: some have no daylight saving time, some
// change at midnight, over midnight or by half an hour, and some have left out a day or had one
// twice.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "America/St_Johns",
	"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Kathmandu", "Africa/Cairo", "Asia/Gaza", "America/Juneau", "Asia/Manila",
	"America/Asuncion", "Pacific/Kiritimati", "Etc/GMT+12",
}

// calendars returns a calendar of each length, begin of the year and zone.
func calendars(t *testing.T) []calendar.Calendar {
	t.Helper()
	var all []calendar.Calendar
	for _, zone := range zones {
		for _, every := range []calendar.Every{calendar.Day, calendar.Month, calendar.Quarter, calendar.Year} {
			for _, starts := range []string{"", "04-01", "07-01", "04-06", "02-28", "12-28", "10-25"} {
				c, err := calendar.New(every, starts, zone)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// instants returns instants of all years from 1 to 9999, more of them near those years in
// which zones have changed their rules, at midnight and beside it.
func instants(random *rand.Rand, n int) []time.Time {
	all := make([]time.Time, 0, n)
	for range n {
		year := 2 + random.IntN(9996)
		if random.IntN(3) > 0 {
			year = 1840 + random.IntN(220)
		}
		t := time.Date(year, time.January, 1+random.IntN(366), random.IntN(24), 0, 0, 0, time.UTC)
		t = t.Add([]time.Duration{0, -1, 1, 30 * time.Minute, time.Minute, time.Duration(random.Int64N(int64(time.Hour)))}[random.IntN(6)])
		all = append(all, t)
	}
	return all
}

// TestLaws: each instant belongs to one period, which lies between its neighbours without a
// gap; each name belongs to one period, and names sort as the periods do; a date belongs to the
// period that has its day.
func TestLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range calendars(t) {
		for _, at := range instants(random, 150) {
			p, err := c.At(at)
			if err != nil {
				t.Fatalf("%v: At(%s): %v", c, at, err)
			}
			what := fmt.Sprintf("%s from %s in %s: %s, of %s", c.Every(), c.Starts(), c.Zone(), p.Name, at)
			if !p.Has(at) {
				t.Fatalf("%s: it lies from %s to %s", what, p.Begin, p.End)
			}
			if !p.First.Before(p.After) || p.End.Before(p.Begin) {
				t.Fatalf("%s: its days are %s to %s", what, p.First, p.After)
			}
			next, err := c.Next(p)
			if err != nil {
				t.Fatal(err)
			}
			if next.First != p.After || next.Begin != p.End || next.Name <= p.Name || next.Has(at) {
				t.Fatalf("%s: the next one is %+v", what, next)
			}
			named, err := c.Parse(p.Name)
			if err != nil || named != p {
				t.Fatalf("%s: parsed, its name is %+v, %v", what, named, err)
			}
			for _, day := range []time.Time{p.First, p.After.AddDate(0, 0, -1)} {
				if on, err := c.On(day.Date()); err != nil || on != p {
					t.Fatalf("%s: its day %s is in %+v, %v", what, day, on, err)
				}
			}
			if on, err := c.On(p.After.Date()); err != nil || on != next {
				t.Fatalf("%s: the day after it is in %+v, %v", what, on, err)
			}
			if p.Quarter < 1 || p.Quarter > 4 || p.Year != p.First.Year() && p.Year != p.First.Year()-1 {
				t.Fatalf("%s: it is in the quarter %d of %d", what, p.Quarter, p.Year)
			}
		}
	}
}

// TestBegin: a period begins where the zone shows its first day or a later one, and never an
// earlier one again. What the zone shows is looked at minute by minute.
func TestBegin(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, zone := range zones {
		c, err := calendar.New(calendar.Day, "", zone)
		if err != nil {
			t.Fatal(err)
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		days := instants(random, 40)
		for year := 1840; year < 2040; year++ { // days with a change of the zone's offset
			for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); ; {
				_, end := at.In(location).ZoneBounds()
				if end.IsZero() || end.Year() != year {
					break
				}
				if random.IntN(4) == 0 {
					days = append(days, end)
				}
				at = end
			}
		}
		for _, at := range days {
			p, err := c.At(at)
			if err != nil {
				t.Fatal(err)
			}
			shows := func(t time.Time) time.Time {
				year, month, day := t.In(location).Date()
				return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
			}
			if got := shows(p.Begin); got.Before(p.First) {
				t.Errorf("%s: %s begins at %s, when it is %s", zone, p.Name, p.Begin, got)
			}
			if got := shows(p.Begin.Add(-1)); !got.Before(p.First) {
				t.Errorf("%s: %s begins at %s, and before that it is %s", zone, p.Name, p.Begin, got)
			}
			for later := p.Begin; later.Before(p.Begin.Add(50 * time.Hour)); later = later.Add(time.Minute) {
				if got := shows(later); got.Before(p.First) {
					t.Errorf("%s: %s begins at %s, and at %s it is %s", zone, p.Name, p.Begin, later, got)
				}
			}
		}
	}
}

// TestForms: a name or a date is taken in its one form alone.
func TestForms(t *testing.T) {
	c, err := calendar.New(calendar.Day, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", " ", "2026-11-28 ", " 2026-11-28", "2026-11-28\n", "2026-11-281", "+2026-11-28", "２０２６-11-28", "2026-11-28'"} {
		if p, err := c.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v", text, p)
		}
		if p, err := c.OnText(text); err == nil {
			t.Errorf("OnText(%q) = %+v", text, p)
		} else if strings.Contains(err.Error(), "2026") {
			t.Errorf("OnText(%q): the error holds the date: %v", text, err)
		}
	}
}

// TestZero: the zero Calendar has no periods.
func TestZero(t *testing.T) {
	var c calendar.Calendar
	_, at := c.At(time.Now())
	_, on := c.On(2026, 1, 1)
	_, text := c.OnText("2026-01-01")
	_, next := c.Next(calendar.Period{})
	_, parsed := c.Parse("2026")
	for i, err := range []error{at, on, text, next, parsed} {
		if err == nil {
			t.Errorf("method %d returns no error", i)
		}
	}
	if c.Every() != "" || c.Zone() != "UTC" {
		t.Errorf("%q %q", c.Every(), c.Zone())
	}
}

// TestOn: dates that no calendar has are refused, and not moved to others.
func TestOn(t *testing.T) {
	c, err := calendar.New(calendar.Day, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range [][3]int{{2026, 2, 29}, {2026, 4, 31}, {2026, 13, 1}, {2026, 0, 1}, {2026, 1, 0}, {0, 1, 1}, {10000, 1, 1}, {-1, 1, 1}, {1 << 40, 1, 1}} {
		if p, err := c.On(d[0], time.Month(d[1]), d[2]); err == nil {
			t.Errorf("%v is in %+v", d, p)
		} else if strings.ContainsAny(strings.ReplaceAll(err.Error(), "1 to 9999", ""), "0123456789") {
			t.Errorf("%v: the error holds the date: %v", d, err)
		}
	}
	if p, err := c.On(2024, 2, 29); err != nil || p.Name != "2024-02-29" {
		t.Errorf("%+v, %v", p, err)
	}
}
