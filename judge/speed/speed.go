// Package speed measures how long keyfill takes to compile a text that it has not seen
// before, and compares the time with a limit (the bar) that depends on the size of the
// text.
package speed

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// The limit for compiling one INSERT (the bar): a fixed part, and a part for each byte of
// its text.
const (
	Fixed   = 1500 * time.Nanosecond
	PerByte = 7 // nanoseconds
)

// Sample is how long one text takes.
type Sample struct {
	ID    string
	Bytes int
	Best  time.Duration
}

// Over returns the nanoseconds for each byte that go beyond the fixed part; it
// is negative for a text that takes less.
func (s Sample) Over() float64 {
	return float64(s.Best-Fixed) / float64(max(s.Bytes, 1))
}

// Above reports whether the text takes longer than is allowed.
func (s Sample) Above() bool { return s.Over() > PerByte }

// Stopwatch measures in one dialect, with a key in every table.
type Stopwatch struct {
	dialect *dialect.Dialect
	target  *plans.Target
}

// New returns a stopwatch for a dialect, with UUIDs as keys or with integers, which the
// engine can count up, so that INSERT … SELECT is filled too.
func New(dialectName, column string, integers bool) (*Stopwatch, error) {
	d, err := dialect.ByName(dialectName)
	if err != nil {
		return nil, err
	}
	key := plans.Key{
		Column: d.Fold(column, false),
		Fill:   plans.FillMissing | plans.FillNull | plans.FillDefault,
		Type:   "uuid",
	}
	if integers {
		key.Integer, key.Counted, key.Type = true, true, "bigint"
	}
	return &Stopwatch{d, &plans.Target{Table: "t", Keys: []plans.Key{key}}}, nil
}

// How a text is timed: its time is the best of several batches of calls, each of which
// takes long enough for the clock.
const (
	batches   = 20
	batchTime = 5 * time.Microsecond
	longest   = 20 * time.Millisecond // the limit for all batches of one text together
)

// Measure compiles a text and returns how long it takes at best, that is, when nothing else
// runs. It returns false for a text that is passed.
func (s *Stopwatch) Measure(id, query string) (Sample, bool) {
	lookup := func(_, _ string) *plans.Target { return s.target }
	if compile.Query(s.dialect, lookup, query).Action == plans.Pass {
		return Sample{}, false
	}
	took := func(n int) time.Duration {
		start := time.Now()
		for range n {
			compile.Query(s.dialect, lookup, query)
		}
		return time.Since(start) / time.Duration(n)
	}
	best := took(1)
	for range 2 {
		best = min(best, took(1))
	}
	calls := int(batchTime/max(best, 1)) + 1
	for start, i := time.Now(), 0; i < batches && time.Since(start) < longest; i++ {
		best = min(best, took(calls))
	}
	return Sample{id, len(query), best}, true
}

// sizes are the upper ends of the classes that are printed, in bytes.
var sizes = []int{50, 100, 200, 500, 1000, 10000, 1 << 62}

// Print writes for each class of sizes the times of its texts, the line through all of
// them, and the examples that are the farthest above the limit.
func Print(w io.Writer, title string, samples []Sample, examples int) error {
	var err error
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	line("\n== %s: %d texts compiled, bar %v + %d ns/byte", title, len(samples), Fixed, PerByte)
	line("  %-12s %7s %12s %12s %20s %9s", "bytes", "texts", "median", "slowest", "worst (ns-1500)/byte", "above")
	from := 0
	for _, to := range sizes {
		var in []Sample
		for _, s := range samples {
			if from <= s.Bytes && s.Bytes < to {
				in = append(in, s)
			}
		}
		if len(in) > 0 {
			line("  from %-7d %7d %12v %12v %20.2f %9d", from, len(in), median(in), slowest(in), worst(in), above(in))
		}
		from = to
	}
	fixed, perByte := Fit(samples)
	line("  line through all: %.0f ns + %.2f ns/byte; above the bar: %d", fixed, perByte, above(samples))
	far := slices.SortedFunc(slices.Values(samples), func(a, b Sample) int { return compare(b.Over(), a.Over()) })
	for _, s := range far[:min(examples, len(far))] {
		line("  %-28s %7d bytes %12v %8.2f", s.ID, s.Bytes, s.Best, s.Over())
	}
	return err
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func median(s []Sample) time.Duration {
	var all []time.Duration
	for _, x := range s {
		all = append(all, x.Best)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func slowest(s []Sample) (d time.Duration) {
	for _, x := range s {
		d = max(d, x.Best)
	}
	return d
}

func worst(s []Sample) float64 {
	w := s[0].Over()
	for _, x := range s {
		w = max(w, x.Over())
	}
	return w
}

func above(s []Sample) (n int) {
	for _, x := range s {
		if x.Above() {
			n++
		}
	}
	return n
}

// Fit returns the line through the samples with the least squares: nanoseconds,
// and nanoseconds for each byte.
func Fit(samples []Sample) (fixed, perByte float64) {
	var n, x, y, xx, xy float64
	for _, s := range samples {
		b, t := float64(s.Bytes), float64(s.Best)
		n, x, y, xx, xy = n+1, x+b, y+t, xx+b*b, xy+b*t
	}
	if d := n*xx - x*x; d != 0 {
		perByte = (n*xy - x*y) / d
	}
	if n > 0 {
		fixed = (y - perByte*x) / n
	}
	return fixed, perByte
}
