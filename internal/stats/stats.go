// Package stats is the statistics of the measurements: medians, intervals that need
// no assumption about how times are distributed, and the order in which variants take
// turns.
package stats

import (
	"math"
	"slices"
)

// Estimate is the median of samples, and an interval in which the true median is with a
// probability of 95 %.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`

	// Bounded reports whether Low and High are that interval. For fewer than six samples
	// there is no such interval: Low and High are then the least and the greatest sample.
	Bounded bool `json:"bounded"`
}

// Of returns the estimate from at least one sample. It does not change the order of the
// samples.
func Of(samples []float64) Estimate {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	e := Estimate{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2}
	rank := Rank(n)
	e.Bounded = rank > 0
	rank = max(rank, 1)
	e.Low, e.High = sorted[rank-1], sorted[n-rank]
	return e
}

// Rank returns which of n samples in ascending order, counted from 1, is the lower end of
// the interval; the upper end is as far from the last sample. The true median is outside of
// the interval if fewer than Rank samples are on one side of it, and each sample is on
// either side with a probability of one half. Rank is 0 if no interval has the median with
// 95 %.
func Rank(n int) int {
	rank, missed := 0, 0.0
	chance := math.Pow(0.5, float64(n)) // the probability that exactly rank samples are below the median
	for rank < n {
		if missed += 2 * chance; missed > 0.05 {
			break
		}
		chance *= float64(n-rank) / float64(rank+1)
		rank++
	}
	return rank
}

// Ratios divides each sample by the one that was taken in the same round.
func Ratios(samples, rivals []float64) []float64 {
	ratios := make([]float64, len(samples))
	for i := range samples {
		ratios[i] = samples[i] / rivals[i]
	}
	return ratios
}

// Order returns the order in which n variants are measured in a round. In n rounds each
// variant has each place once.
func Order(round, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (round + i) % n
	}
	return order
}
