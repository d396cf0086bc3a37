package figures_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/internal/stats"
)

func TestVerdict(t *testing.T) {
	median := func(v float64) stats.Estimate { return stats.Estimate{Median: v} }
	interval := func(low, high float64) stats.Estimate {
		return stats.Estimate{Median: (low + high) / 2, Low: low, High: high, Bounded: true}
	}
	tests := []struct {
		name  string
		bar   figures.Bar
		value stats.Estimate
		want  string
	}{
		{"below", figures.AtMost(1.15), median(1.1), "met"},
		{"as it is printed", figures.AtMost(1.15), median(1.1549), "met"},
		{"above", figures.AtMost(1.15), median(1.16), "not met"},
		{"nothing more", figures.AtMost(0), median(0), "met"},
		{"something more", figures.AtMost(0), median(1), "not met"},
		{"fewer", figures.AtMost(0), median(-1), "met"},
		{"at least", figures.Bar{Least: 8}, median(8), "met"},
		{"less than least", figures.Bar{Least: 8}, median(7.9), "not met"},
		{"reaches and stays above", figures.AsFast(), interval(0.91, 0.97), "met"},
		{"faster", figures.AsFast(), interval(1.1, 1.2), "met"},
		{"does not reach", figures.AsFast(), interval(0.91, 0.96), "not met"},
		{"does not stay above", figures.AsFast(), interval(0.90, 1.1), "not met"},
		{"no interval", figures.AsFast(), stats.Estimate{Median: 1, Low: 0.99, High: 1.01}, "too few rounds"},
		{"no bar", figures.Bar{}, median(5), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.bar.Verdict(figures.Times, tt.value); got != tt.want {
				t.Errorf("the verdict on %+v is %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

func TestCells(t *testing.T) {
	f := figures.Figure{
		What: "filled", Against: "raw driver", Unit: figures.Times, Bar: figures.AtMost(1.5), Verdict: "met", Note: "a note",
		Value:   stats.Estimate{Median: 1.234, Low: 1.2, High: 1.3, Bounded: true},
		Control: &stats.Estimate{Median: 1, Low: 0.99, High: 1.01, Bounded: true},
	}
	want := []string{"filled (a note)", "raw driver", "≤ 1.50x", "1.23x", "1.20x to 1.30x", "0.99 to 1.01", "met"}
	if got := f.Cells(); !slices.Equal(got, want) {
		t.Errorf("cells = %q, want %q", got, want)
	}
	f.Control.High, f.Value.Bounded, f.Unit, f.Bar = 1.04, false, figures.Nanoseconds, figures.Bar{}
	want = []string{"filled (a note)", "raw driver", "", "1.2 ns", "1.2 ns to 1.3 ns (least and greatest)", "0.99 to 1.04, wider than ±3 %", "met"}
	if got := f.Cells(); !slices.Equal(got, want) {
		t.Errorf("cells = %q, want %q", got, want)
	}
}

// TestReport: a report has a line for each figure, and lists what misses its bar.
func TestReport(t *testing.T) {
	var r figures.Report
	r.Add("null", []figures.Figure{
		{What: "one", Unit: figures.Times, Value: stats.Estimate{Median: 2}, Bar: figures.AtMost(1)},
		{What: "two", Unit: figures.Times, Value: stats.Estimate{Median: 1}, Bar: figures.AtMost(1)},
	})
	text := r.Markdown()
	for _, line := range []string{"| one |  | ≤ 1.00x | 2.00x |  |  | not met |\n", "| two |  | ≤ 1.00x | 1.00x |  |  | met |\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("the table lacks %q:\n%s", line, text)
		}
	}
	if unmet := r.Unmet(); len(unmet) != 1 || unmet[0].What != "one" || unmet[0].Group != "null" {
		t.Errorf("Unmet = %+v, want the figure one of the group null", unmet)
	}
}

// TestRound: a figure is held to its bar as it is printed.
func TestRound(t *testing.T) {
	for v, want := range map[float64]float64{0.04: 0, -0.04: 0, 0.96: 1, 2.95: 3} {
		if got := figures.Allocations.Round(v); got != want || math.Signbit(got) {
			t.Errorf("%v allocations are rounded to %v, want %v", v, got, want)
		}
	}
	if got := figures.AtMost(80).Verdict(figures.Nanoseconds, stats.Estimate{Median: 80.04}); got != "met" {
		t.Errorf("80.04 ns, printed as 80.0, against a bar of 80: %q, want met", got)
	}
}

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"main.main":              "main",
		"fmt.(*pp).printArg":     "fmt",
		"runtime.mallocgc":       "runtime",
		"runtime.pclntab":        "types and tables",
		"type:*net/http.Request": "types and tables",
		"go:string.*":            "types and tables",
		"github.com/keyfill/keyfill/rewrite.(*Plan).Bind":                           "github.com/keyfill/keyfill/rewrite",
		"go.yaml.in/yaml/v3.Unmarshal":                                              "go.yaml.in/yaml/v3",
		"gopkg.in/x%2ev3.F":                                                         "gopkg.in/x.v3",
		"slices.SortFunc[go.shape.[]github.com/keyfill/keyfill/policy.Rule,go.x.y]": "slices",
		"_cgo_init": "types and tables",
	} {
		if got := figures.PackageOf(symbol); got != want {
			t.Errorf("PackageOf(%q) = %q, want %q", symbol, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	with := figures.Sizes("  4a0000       100 T main.main\n  4a0100        50 t fmt.Println\n  4a0200 70 R fmt.table\n  4b0000 900 B fmt.buffer\n         U external\n")
	if len(with) != 2 || with["main"] != 100 || with["fmt"] != 120 {
		t.Errorf("Sizes = %v, want main 100 and fmt 120", with)
	}
	got := figures.Larger(map[string]int64{"a": 10, "b": 30, "c": 5, "d": 30}, map[string]int64{"a": 1, "c": 5})
	if want := []figures.PackageSize{{Package: "b", Bytes: 30}, {Package: "d", Bytes: 30}, {Package: "a", Bytes: 9}}; !slices.Equal(got, want) {
		t.Errorf("Larger = %v, want %v", got, want)
	}
}

func TestOwner(t *testing.T) {
	for function, want := range map[string]string{
		"database/sql.(*DB).conn":                                "others",
		"github.com/keyfill/keyfill.(*counters).count":           "keyfill",
		"github.com/keyfill/keyfill/rewrite.(*Cache).Put":        "keyfill",
		"github.com/keyfill/keyfill/keysource.(*UUIDv7).reserve": "the source",
		"github.com/keyfill/keyfill/bench/figures.blockedBy":     "others",
		"github.com/ngrok/sqlmw.wrappedConn.ExecContext":         "others",
	} {
		if got := figures.Owner(function); got != want {
			t.Errorf("Owner(%q) = %q, want %q", function, got, want)
		}
	}
}

func TestLocksOf(t *testing.T) {
	before := map[string]figures.Waiting{"a": {Cycles: 5, Count: 1}, "b": {Cycles: 7, Count: 1}}
	after := map[string]figures.Waiting{"a": {Cycles: 15, Count: 9}, "b": {Cycles: 7, Count: 1}, "c": {Cycles: 30, Count: 2}}
	got := figures.LocksOf("v7", before, after, 4000)
	want := []figures.Lock{{Keys: "v7", Function: "c", Share: 0.75, Waits: 0.5}, {Keys: "v7", Function: "a", Share: 0.25, Waits: 2}}
	if !slices.Equal(got, want) {
		t.Errorf("LocksOf = %v, want %v", got, want)
	}
}
