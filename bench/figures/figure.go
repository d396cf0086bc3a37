package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/stats"
)

// Figure is one measured number, with its bar: the limit that it has to keep.
type Figure struct {
	Group   string          `json:"group"`
	What    string          `json:"what"`
	Against string          `json:"against,omitempty"` // the rival (the program compared with); empty for an absolute number
	Unit    Unit            `json:"unit"`
	Value   stats.Estimate  `json:"value"`
	Control *stats.Estimate `json:"control,omitempty"` // the rival's second turn divided by its first, which shows the noise
	Bar     Bar             `json:"bar"`
	Verdict string          `json:"verdict"` // the result of Bar.verdict, such as "met"
	Note    string          `json:"note,omitempty"`
	// Optional reports whether the figure may be missing for another commit, because
	// keyfill refuses the measured statement at that commit.
	Optional bool `json:"optional,omitempty"`
}

// Unit is the unit of a figure.
type Unit string

// The units.
const (
	Times       Unit = "x"           // a multiple of the rival's figure: 1.2x is a fifth more
	Nanoseconds Unit = "ns"          // nanoseconds of CPU time
	Allocations Unit = "allocations" // allocations in one operation
	Megabytes   Unit = "MB"          // megabytes of 1,000,000 bytes
	Waits       Unit = "waits"       // waits in 1,000 operations
)

// decimals returns how many decimal places of a number are printed.
func (u Unit) decimals() int {
	if u == Nanoseconds || u == Allocations {
		return 1
	}
	return 2
}

// round rounds a number to the printed decimal places. It never returns a negative zero.
func (u Unit) round(v float64) float64 {
	shift := math.Pow10(u.decimals())
	return math.Round(v*shift)/shift + 0
}

// write returns a number with its unit.
func (u Unit) write(v float64) string {
	number := strconv.FormatFloat(u.round(v), 'f', u.decimals(), 64)
	switch u {
	case Times:
		return number + "x"
	case Allocations, Waits:
		return number
	}
	return number + " " + string(u)
}

// Bar is the limit that a figure has to keep. The zero value is no limit.
type Bar struct {
	Most  float64 `json:"most"`  // the greatest value that the median may have
	Least float64 `json:"least"` // the least value that the median may have
	// Reach and Above limit the interval: its upper end has to reach Reach, and its lower
	// end has to stay above Above.
	Reach float64 `json:"reach"`
	Above float64 `json:"above"`
	// Zero means that the limit Most applies although it is 0; otherwise 0 means no limit.
	Zero bool `json:"zero,omitempty"`
}

// atMost returns the bar (the required limit) of a figure that should be small.
func atMost(limit float64) Bar { return Bar{Most: limit, Zero: limit == 0} }

// asFast returns the bar (the required limit) for rows a second in comparison with a
// rival's.
func asFast() Bar { return Bar{Reach: 0.97, Above: 0.90} }

// write returns the bar (the required limit) as text, in the unit of its figure.
func (b Bar) write(u Unit) string {
	switch {
	case b.Reach > 0:
		return fmt.Sprintf("interval reaches %s, stays above %s", u.write(b.Reach), u.write(b.Above))
	case b.Least > 0:
		return "≥ " + u.write(b.Least)
	case b.Most > 0 || b.Zero:
		return "≤ " + u.write(b.Most)
	}
	return ""
}

// The verdicts on a figure; empty if no limit is required.
const (
	met    = "met"
	notMet = "not met"
	short  = "too few rounds"
)

// verdict compares an estimate with the bar (the required limit). It rounds the median as
// it is printed.
func (b Bar) verdict(u Unit, e stats.Estimate) string {
	var ok bool
	switch {
	case b.Reach > 0 && !e.Bounded:
		return short
	case b.Reach > 0:
		ok = e.High >= b.Reach && e.Low > b.Above
	case b.Least > 0:
		ok = u.round(e.Median) >= b.Least
	case b.Most > 0 || b.Zero:
		ok = u.round(e.Median) <= b.Most
	default:
		return ""
	}
	if ok {
		return met
	}
	return notMet
}

// unsteady reports whether the rival's two turns differ so much that the figure says
// little.
func (f Figure) unsteady() bool {
	return f.Control != nil && (f.Control.Low < 0.97 || f.Control.High > 1.03)
}

// cells returns the cells of the figure's line in the table.
func (f Figure) cells() []string {
	interval := func(e stats.Estimate) string {
		if e.Low == e.High {
			return ""
		}
		text := fmt.Sprintf("%s to %s", f.Unit.write(e.Low), f.Unit.write(e.High))
		if !e.Bounded {
			text += " (least and greatest)"
		}
		return text
	}
	control := ""
	if f.Control != nil {
		control = fmt.Sprintf("%.2f to %.2f", f.Control.Low, f.Control.High)
		if f.unsteady() {
			control += ", wider than ±3 %"
		}
	}
	what := f.What
	if f.Note != "" {
		what += " (" + f.Note + ")"
	}
	return []string{what, f.Against, f.Bar.write(f.Unit), f.Unit.write(f.Value.Median),
		strings.TrimSpace(interval(f.Value)), control, f.Verdict}
}

// absolute returns a figure of one number that has no spread.
func absolute(what string, u Unit, value float64, bar Bar) Figure {
	e := stats.Estimate{Median: value, Low: value, High: value}
	return Figure{What: what, Unit: u, Value: e, Bar: bar}
}
