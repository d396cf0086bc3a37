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
	Shown   []Table // the first tables
	More    int     // tables that are not shown
	Refresh int     // in seconds; 0 without
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

// Verdict is the class of the first line.
func (p page) Verdict() string {
	if len(p.Attention) == 0 {
		return "good"
	}
	return p.Attention[0].Severity
}

// Now returns how many findings are bad, where others are not.
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

// When returns by when an operator has to look at the group, in a word: its colour alone
// would not inform all readers.
func (g group) When() string {
	if g.Severity == bad {
		return "now"
	}
	return "today"
}

// Groups returns the findings by their subjects.
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

// Ago returns how long a time is past.
func (p page) Ago(then time.Time) string { return ago(p.Time, then) }

// Moment writes a time: without its date where that is today's.
func (p page) Moment(then time.Time) string {
	switch {
	case then.IsZero():
		return ""
	case then.Format(time.DateOnly) == p.Time.Format(time.DateOnly):
		return then.Format(time.TimeOnly)
	}
	return then.Format(time.DateTime)
}

// Ends reports whether anything is known of a source's end.
func (p page) Ends(s Source) bool { return s.Max > 0 && s.States > 0 || !s.Exhausted.IsZero() }

// Until returns until when a source lasts.
func (p page) Until(s Source) string {
	if s.Exhausted.IsZero() {
		return ""
	}
	return "until " + s.Exhausted.Format(time.DateOnly) + ", " + in(p.Time, s.Exhausted)
}

// Percent returns which part of a source's numbers is left.
func (p page) Percent(s Source) string {
	return strconv.FormatFloat(100*float64(s.Remaining)/float64(s.Max), 'f', 1, 64)
}

// BarWidth is Percent, of which a little is always seen.
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

// Fetched returns how long fetches take.
func (p page) Fetched(s Source) string {
	if s.Fetches == 0 {
		return ""
	}
	return fmt.Sprintf("mean %s, slowest %s", shortTime(s.MeanFetchSeconds), shortTime(s.SlowestFetchSeconds))
}

// shortTime writes seconds with two digits that matter.
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

// cell is a figure with its name, which a narrow screen shows.
type cell struct {
	Label string
	Count uint64
	Level string // of a figure that should be 0; else ""
}

func newCell(label string, n uint64) cell { return cell{Label: label, Count: n} }

func newAlarm(label string, n uint64, level string) cell { return cell{label, n, level} }

// causes is a sum with its parts by cause.
type causes struct {
	Label  string
	Counts []Count
	Over   bool // keys were added since
}

func newCauses(label string, counts []Count, over bool) causes { return causes{label, counts, over} }

// Level is bad where INSERTs got no key, and warn where that is over, and where they were
// refused: a reason has a text. Failures in the engine may be what the program expects.
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

// Sum adds up the counts.
func (c causes) Sum() uint64 { return sum(c.Counts) }

// breakable writes a name that a narrow screen may break after its dots and underscores.
func breakable(name string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(name)))
}

var breaks = strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>")

// count writes a number with its thousands apart, by a narrow space that does not break.
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
