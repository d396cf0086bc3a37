package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/internal/stats"
)

// rounds returns the rounds of one figure with these numbers.
func rounds(bar figures.Bar, numbers ...float64) (all []map[string]figures.Figure) {
	for _, n := range numbers {
		all = append(all, map[string]figures.Figure{"keys: v7": {Value: stats.Estimate{Median: n}, Bar: bar}})
	}
	return all
}

func TestVerdict(t *testing.T) {
	less, more := figures.Bar{Most: 2}, figures.Bar{Least: 0.9}
	for _, c := range []struct {
		name              string
		bar               figures.Bar
		base, tree, again []float64
		want              string
	}{
		{"within the spread", less, []float64{1, 1, 1, 1, 1, 1}, []float64{1.05, 0.98, 1, 1.02, 1.1, 0.9}, []float64{1, 1, 1, 1, 1, 1}, same},
		{"slower", less, []float64{1, 1, 1, 1, 1, 1}, []float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.5}, []float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.6}, worse},
		{"faster", less, []float64{2, 2, 2, 2, 2, 2}, []float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.5}, []float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.6}, better},
		{"more rows", more, []float64{1, 1, 1, 1, 1, 1}, []float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.5}, []float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.6}, better},
		{"fewer rows", more, []float64{2, 2, 2, 2, 2, 2}, []float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.5}, []float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.6}, worse},
		{"an allocation more", less, []float64{4, 4, 4, 4, 4, 4}, []float64{5, 5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5, 5}, worse},
		{"the first allocation", less, []float64{0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1}, worse},
		{"none at all", less, []float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0}, same},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := differences(rounds(c.bar, c.base...), rounds(c.bar, c.tree...), rounds(c.bar, c.again...), false)
			if err != nil || len(all) != 1 {
				t.Fatalf("differences() = %v, %v, want one", all, err)
			}
			if got := all[0].verdict(); got != c.want {
				t.Errorf("verdict() = %q for %+v, want %q", got, all[0], c.want)
			}
			var b bytes.Buffer
			if err := report(&b, all); (err != nil) != (c.want == worse) || !strings.Contains(b.String(), "1 figures: ") {
				t.Errorf("report() = %v, and printed %q", err, &b)
			}
		})
	}
}

// TestMissing: a figure that one tree lacks is no comparison. An optional one may be
// missing in BASE.
func TestMissing(t *testing.T) {
	one := rounds(figures.Bar{}, 1)
	if _, err := differences([]map[string]figures.Figure{{}}, one, one, false); err == nil {
		t.Error("a figure that BASE lacks is compared")
	}
	if _, err := differences(one, []map[string]figures.Figure{{}}, one, false); err == nil {
		t.Error("no figure at all is compared")
	}
	if all, err := differences([]map[string]figures.Figure{{}}, one, one, true); err != nil || len(all) != 1 || all[0].verdict() != added {
		t.Errorf("a figure that BASE's own benchmarks lack: %+v, %v", all, err)
	}
	one[0]["keys: v7"] = figures.Figure{Optional: true}
	all, err := differences([]map[string]figures.Figure{{}}, one, one, false)
	if err != nil || len(all) != 1 || all[0].verdict() != added || report(io.Discard, all) != nil {
		t.Errorf("an optional figure that BASE lacks: %+v, %v", all, err)
	}
	if _, err := differences(one, one, []map[string]figures.Figure{{}}, false); err == nil {
		t.Error("an optional figure that the tree lacks is compared")
	}
}
