package stats_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/internal/stats"
)

func TestOf(t *testing.T) {
	tests := []struct {
		name    string
		samples []float64
		want    stats.Estimate
	}{
		{"one", []float64{3}, stats.Estimate{Median: 3, Low: 3, High: 3}},
		{"even", []float64{4, 1, 3, 2}, stats.Estimate{Median: 2.5, Low: 1, High: 4}},
		{"five have no interval", []float64{5, 4, 3, 2, 1}, stats.Estimate{Median: 3, Low: 1, High: 5}},
		{"six", []float64{6, 5, 1, 2, 4, 3}, stats.Estimate{Median: 3.5, Low: 1, High: 6, Bounded: true}},
		{"nine", []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, stats.Estimate{Median: 5, Low: 2, High: 8, Bounded: true}},
		{"one far away", []float64{1, 2, 3, 4, 5, 6, 7, 8, 1000}, stats.Estimate{Median: 5, Low: 2, High: 8, Bounded: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.samples)
			if got := stats.Of(tt.samples); got != tt.want {
				t.Errorf("Of(%v) = %+v, want %+v", tt.samples, got, tt.want)
			}
			if !slices.Equal(tt.samples, before) {
				t.Errorf("Of has moved the samples to %v", tt.samples)
			}
		})
	}
}

// TestRank: 2·P(B < rank) is at most 0.05, B binomial with n and one half, and with a
// rank more it is not. With n = 9 that is 2·(1+9)/512 = 0.039 and 2·(1+9+36)/512 = 0.18.
func TestRank(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 40: 14, 50: 18} {
		if got := stats.Rank(n); got != want {
			t.Errorf("Rank(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestRatios(t *testing.T) {
	got := stats.Ratios([]float64{2, 9, 1}, []float64{1, 3, 4})
	if want := []float64{2, 3, 0.25}; !slices.Equal(got, want) {
		t.Errorf("Ratios = %v, want %v", got, want)
	}
}

// TestOrder: a round has each variant once, and n rounds have each one in each place.
func TestOrder(t *testing.T) {
	if got, want := stats.Order(4, 3), []int{1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("Order(4, 3) = %v, want %v", got, want)
	}
	const n = 4
	var places [n][n]int
	for round := range n {
		order := stats.Order(round, n)
		for place, variant := range order {
			places[variant][place]++
		}
	}
	for variant, counts := range places {
		if counts != [n]int{1, 1, 1, 1} {
			t.Errorf("variant %d was in the places %v times, want once in each", variant, counts)
		}
	}
}
