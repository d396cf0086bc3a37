package keyfillhttp

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page holds the data of the template.
type page struct {
	Report
	Style   template.CSS
	Shown   []Table // the tables that the page shows
	More    int     // how many tables the page does not show
	Refresh int     // after how many seconds a browser asks again; 0 means never
	At      string
}

// maxShown is the most tables that the page lists; the JSON has them all.
const maxShown = 500

func newPage(r Report, from *http.Request) page {
	p := page{Report: r, Style: template.CSS(styleText), Shown: r.Tables, At: r.Time.Format(time.DateTime)}
	if len(p.Shown) > maxShown {
		p.Shown, p.More = p.Shown[:maxShown], len(p.Shown)-maxShown
	}
	if every, ok := refreshOf(from); ok {
		p.Refresh = every
	}
	return p
}

// Verdict returns the CSS class of the first line: good, or the worst severity.
func (p page) Verdict() string {
	if len(p.Attention) == 0 {
		return "good"
	}
	return p.Attention[0].Severity
}

// Now returns how many findings are bad. If all findings are bad, it returns 0, and the
// page does not show the number.
func (p page) Now() int {
	n := 0
	for _, f := range p.Attention {
		if f.Severity == bad {
			n++
		}
	}
	if n == len(p.Attention) {
		return 0
	}
	return n
}

// group holds the findings about one subject.
type group struct {
	Severity, Subject string
	Findings          []Finding
}

// When returns by when an operator has to look at the group, as a word, since not all
// readers can see the group's colour.
func (g group) When() string {
	if g.Severity == bad {
		return "now"
	}
	return "today"
}

// Groups returns the findings in groups, by severity and subject.
func (p page) Groups() []group {
	var all []group
	for _, f := range p.Attention {
		if last := len(all) - 1; last >= 0 && all[last].Severity == f.Severity && all[last].Subject == f.Subject {
			all[last].Findings = append(all[last].Findings, f)
		} else {
			all = append(all, group{f.Severity, f.Subject, []Finding{f}})
		}
	}
	return all
}

// Ago returns text about how long a time is past.
func (p page) Ago(then time.Time) string { return ago(p.Time, then) }

// Moment returns a time as text, without the date if that is today's.
func (p page) Moment(then time.Time) string {
	switch {
	case then.IsZero():
		return ""
	case then.Format(time.DateOnly) == p.Time.Format(time.DateOnly):
		return then.Format(time.TimeOnly)
	}
	return then.Format(time.DateTime)
}

// Ends reports whether it is known when, or at which number, a source will end.
func (p page) Ends(s Source) bool { return s.Max > 0 && s.States > 0 || !s.Exhausted.IsZero() }

// Until returns text about when a source will be exhausted; empty if that is not known.
func (p page) Until(s Source) string {
	if s.Exhausted.IsZero() {
		return ""
	}
	return "until " + s.Exhausted.Format(time.DateOnly) + ", " + in(p.Time, s.Exhausted)
}

// Percent returns how many percent of a source's numbers are left.
func (p page) Percent(s Source) string {
	return strconv.FormatFloat(100*float64(s.Remaining)/float64(s.Max), 'f', 1, 64)
}

// BarWidth returns Percent, but at least 2 if any numbers are left, so that the bar is
// visible.
func (p page) BarWidth(s Source) string {
	const least = 2
	if s.Remaining > 0 && float64(s.Remaining) < float64(s.Max)/100*least {
		return strconv.Itoa(least)
	}
	return p.Percent(s)
}

// Level returns the colour of the bar of a source: the severity of its findings.
func (p page) Level(s Source) string {
	level := ""
	for _, f := range s.endings(p.Time) {
		level = f.Severity
	}
	return level
}

// Fetched returns text about how long fetches from the store take.
func (p page) Fetched(s Source) string {
	if s.Fetches == 0 {
		return ""
	}
	return fmt.Sprintf("mean %s, slowest %s", shortTime(s.MeanFetchSeconds), shortTime(s.SlowestFetchSeconds))
}

// shortTime returns a number of seconds as short text, with a unit.
func shortTime(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
}

// cell is a figure in a table of the page. Label is its name, which the page shows beside
// it on a narrow screen.
type cell struct {
	Label string
	Count uint64
	Level string // the severity of a figure that should be 0; empty for other figures
}

func newCell(label string, n uint64) cell { return cell{Label: label, Count: n} }

func newAlarm(label string, n uint64, level string) cell { return cell{label, n, level} }

// causes is a number of INSERTs on the page, with its parts by cause.
type causes struct {
	Label  string
	Counts []Count
	Over   bool // whether keys were added since the last of these INSERTs
}

func newCauses(label string, counts []Count, over bool) causes { return causes{label, counts, over} }

// Level returns bad if INSERTs got no key, and warn if keys were added since then, or if
// INSERTs were refused (only a reason for that has a text). Failures in the engine have no
// level: they may be what the program expects.
func (c causes) Level() string {
	level := ""
	for _, part := range c.Counts {
		switch {
		case isOfKeys(part.Cause) && !c.Over:
			return bad
		case isOfKeys(part.Cause):
			level = warn
		case part.Text != "":
			level = warn
		}
	}
	return level
}

// Sum returns the sum of the counts.
func (c causes) Sum() uint64 { return sum(c.Counts) }

// breakable returns a name as HTML that a narrow screen may break after dots and
// underscores.
func breakable(name string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(name)))
}

var breaks = strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>")

// count returns a number as text, with narrow no-break spaces between groups of three
// digits.
func count(n any) string {
	text := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteString("\u202f")
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}
