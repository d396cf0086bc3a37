package layouts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/bench/layouts"
	"github.com/keyfill/keyfill/internal/measure"
)

// TestCompare: the engine's own keys are the measure, and the mean of both tables of
// theirs.
func TestCompare(t *testing.T) {
	result := func(engine, layout string, seconds int) layouts.Result {
		return layouts.Result{Engine: engine, Layout: layout, Took: time.Duration(seconds) * time.Second}
	}
	r := layouts.Report{Results: []layouts.Result{
		result("MariaDB", measure.Own, 10), result("MariaDB", measure.V7, 15), result("MariaDB", measure.OwnAgain, 14),
		result("PostgreSQL", measure.Own, 10), result("PostgreSQL", measure.V7, 12),
		result("SQLite", measure.V7, 30), // alone
	}}
	r.Compare()
	var times []float64
	for _, x := range r.Results {
		times = append(times, x.Times)
	}
	if want := []float64{10. / 12, 1.25, 14. / 12, 1, 1.2, 0}; !slices.Equal(times, want) {
		t.Errorf("Times = %v, want %v", times, want)
	}
	text := r.Markdown()
	for _, line := range []string{
		"| MariaDB | uuidv7, 16 bytes | 15.0 s | 1.25x | 0.0 s | 0.0 s | 0 MB | 0 MB | ≤ 1.2x: not met |\n",
		"| PostgreSQL | uuidv7, 16 bytes | 12.0 s | 1.20x | 0.0 s | 0.0 s | 0 MB | 0 MB | ≤ 1.2x: met |\n",
		"| SQLite | uuidv7, 16 bytes | 30.0 s | 0.00x | 0.0 s | 0.0 s | 0 MB | 0 MB |  |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the table lacks %q:\n%s", line, text)
		}
	}
}

// TestWhole: quarters are of whole transactions, of 5,000 rows.
func TestWhole(t *testing.T) {
	for rows, want := range map[int]int{1: 20_000, 20_000: 20_000, 39_999: 20_000, 40_000: 40_000, 2_000_000: 2_000_000} {
		if got := layouts.Whole(rows); got != want {
			t.Errorf("Whole(%d) = %d, want %d", rows, got, want)
		}
	}
}
