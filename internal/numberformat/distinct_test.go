package numberformat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/calendar"
)

// pickNumber returns a number of one digit or two.
func pickNumber(random *rand.Rand) int64 { return []int64{1, 2, 10, 11, 12, 21}[random.IntN(6)] }

// TestDistinct: two numbers, or the numbers of two numberings, never have one text, whatever
// the values are.
func TestDistinct(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(40, 1))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	calendars := map[Every]calendar.Calendar{}
	for _, e := range []Every{Day, Month, Quarter, Year} {
		c, err := calendar.New(calendar.Every(e), pick("", "04-01"), "")
		if err != nil {
			t.Fatal(err)
		}
		calendars[e] = c
	}
	value := func() string {
		var b strings.Builder
		for range 1 + random.IntN(3) {
			b.WriteString(pick("-", "-", "1", "A"))
		}
		return b.String()
	}
	templates := 0
	for range 25000 {
		var b strings.Builder
		for range 1 + random.IntN(5) {
			b.WriteString(pick("-", "--", "-A-", "1", "A", "/", "{value:a}", "{value:b}", "{column:c}", "{year}", "{yy}", "{fy}", "{month}", "{month:02}", "{day}", "{quarter}", "{luhn}", "{mod97}"))
		}
		all := b.String() + pick("{n}", "{n:03}", "{n:base32}", "-{n}") + pick("", "", "{luhn}", "-", "-{value:b}", "{month}", "-{month}-{day}")
		x, err := Parse(all)
		if err != nil {
			continue
		}
		every := Every(pick("none", "day", "month", "quarter", "year"))
		n := Numbering{Every: every, Values: slices.Clone(x.Values()), Columns: slices.Clone(x.Columns())}
		if c, has := calendars[every]; has {
			n.Fiscal = c.IsFiscal()
		}
		if x.Determines(n) != nil || x.Apart(n) != nil {
			continue
		}
		templates++
		seen := map[string]string{}
		for range 200 {
			p := Parts{Number: pickNumber(random), Values: map[string]string{"a": value(), "b": value()}, Columns: map[string]string{"c": value()}}
			if c, has := calendars[every]; has {
				if p.Period, err = c.At(time.Date(2026, time.January, 15*random.IntN(40), 0, 0, 0, 0, time.UTC)); err != nil {
					t.Fatal(err)
				}
			}
			text, err := x.Text(&p)
			if err != nil {
				continue
			}
			what := fmt.Sprint(p.Number, " in ", p.Period.Name)
			for _, v := range x.Values() {
				what += fmt.Sprintf(" %s=%q", v, p.Values[v])
			}
			for _, v := range x.Columns() {
				what += fmt.Sprintf(" %s=%q", v, p.Columns[v])
			}
			if other, has := seen[text]; has && other != what {
				t.Fatalf("%s: %s and %s are both %q", all, what, other, text)
			}
			seen[text] = what
			checkShown(t, x, text, &p, calendars[every])
		}
	}
	if templates < 500 {
		t.Errorf("only %d templates were tried", templates)
	}
}

// checkShown: what a text shows is what it was made of.
func checkShown(t *testing.T, x *Template, text string, p *Parts, c calendar.Calendar) {
	t.Helper()
	shown, isOne := x.Shown(text)
	again := Parts{Number: shown.Number, Schema: shown.Schema, Table: shown.Table, Values: shown.Values, Columns: shown.Columns}
	isThere := true
	if c.Every() != "" {
		again.Period, isThere = shown.Period(c)
	}
	other, err := x.Text(&again)
	if !isOne || !isThere || err != nil || other != text || again.Number != p.Number || again.Period.Name != p.Period.Name {
		t.Fatalf("%s: %q shows %d in %q (%+v), which has the text %q, %v; want %d in %q",
			x, text, again.Number, again.Period.Name, shown, other, err, p.Number, p.Period.Name)
	}
	for name, value := range again.Values {
		if value != p.Values[name] {
			t.Fatalf("%s: %q shows the value %q, want %q", x, text, value, p.Values[name])
		}
	}
}

// TestHalfOfWhatFollows: a value that ends in the beginning of the text after it has no text,
// since the value "A-" with "B" would have the text of the value "A" with "-B".
func TestHalfOfWhatFollows(t *testing.T) {
	t.Parallel()
	x, err := Parse("{value:a}--{value:b}-{n}")
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[string]bool{"A": true, "A-": false, "-": false, "-A": true, "A--B": false} {
		if text, err := x.Text(&Parts{Number: 1, Values: map[string]string{"a": a, "b": "-B"}}); (err == nil) != want {
			t.Errorf("%q has the text %q, %v", a, text, err)
		}
	}
}

// TestSpaceAtTheEnd: no text ends in a space, which a CHAR column takes off, so that a program
// would be told another text than is stored.
func TestSpaceAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"{n:05} ", "{n}  "} {
		if _, err := Parse(source); err == nil {
			t.Errorf("%q is a template", source)
		}
	}
	x, err := Parse("{n:05}-{value:a}")
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[string]bool{"A": true, "A ": false, " ": false, " A": true} {
		if text, err := x.Text(&Parts{Number: 1, Values: map[string]string{"a": a}}); (err == nil) != want {
			t.Errorf("%q has the text %q, %v", a, text, err)
		}
	}
}

// TestCenturies: {yy} gives no text to two centuries, as it would to the years 1926 and 2026
// where a date is mistyped.
func TestCenturies(t *testing.T) {
	t.Parallel()
	c, err := calendar.New(calendar.Year, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for source, others := range map[string]bool{"{yy}-{n:05}": false, "{year}-{yy}-{n:05}": true, "{year}-{n:05}": true} {
		x, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		for year, ours := range map[int]bool{26: false, 1926: false, 1999: false, 2000: true, 2026: true, 2099: true, 2100: false} {
			p, err := c.On(year, time.May, 1)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := x.Text(&Parts{Number: 1, Period: p}); (err == nil) != (ours || others) {
				t.Errorf("%s: the text of %d is %q, %v", source, year, text, err)
			}
		}
	}
}
