package approaches

import (
	"slices"
	"testing"
)

func TestCrossings(t *testing.T) {
	at := []int{1, 2, 4, 8, 16}
	flat := []float64{100, 100, 100, 100, 100}
	tests := []struct {
		name  string
		a     []float64
		want  []Crossing
		words string
	}{
		{"passes", []float64{50, 80, 120, 200, 300}, []Crossing{{3, true}}, "from 3.0"},
		{"falls behind", []float64{200, 150, 120, 100 - 60, 10}, []Crossing{{5, false}}, "to 5.0"},
		{"ahead", []float64{101, 150, 120, 120, 110}, nil, "ahead"},
		{"behind", []float64{1, 2, 3, 4, 5}, nil, "behind"},
		{"the same", flat, nil, "the same"},
		{"touches", []float64{50, 100, 80, 100, 20}, nil, "behind"},
		{"touches, then passes", []float64{50, 100, 100, 140, 150}, []Crossing{{4, true}}, "from 4.0"},
		{"twice", []float64{50, 150, 50, 60, 70}, []Crossing{{1.5, true}, {3, false}}, "from 1.5 to 3.0"},
		{"back", []float64{150, 50, 50, 150, 150}, []Crossing{{1.5, false}, {6, true}}, "to 1.5, from 6.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Crossings(at, tt.a, flat); !slices.Equal(got, tt.want) {
				t.Errorf("Crossings(%v) = %v, want %v", tt.a, got, tt.want)
			}
			if got := describe(at, tt.a, flat); got != tt.words {
				t.Errorf("describe(%v) = %q, want %q", tt.a, got, tt.words)
			}
		})
	}
}
