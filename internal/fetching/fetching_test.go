package fetching_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

// TestMeter: fetches are counted by their times, and the rate follows the use.
func TestMeter(t *testing.T) {
	var m fetching.Meter
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := m.Fetching(start, 0); got.Fetches != 0 || got.PerSecond != 0 {
		t.Errorf("before the first fetch: %+v", got)
	}
	m.Note(start, 3*time.Millisecond, 100, 0, nil)
	m.Note(start.Add(time.Second), 0, 0, 0, errors.New("down"))
	if got := m.Fetching(start.Add(5*time.Second), 50); got.PerSecond != 0 || got.Errors != 1 || got.Err == nil {
		t.Errorf("after five seconds: %+v, want no rate yet, and an error", got)
	}
	m.Note(start.Add(10*time.Second), 10*time.Second, 100, 0, nil)
	got := m.Fetching(start.Add(20*time.Second), 0)
	if math.Abs(got.PerSecond-10) > 0.1 {
		t.Errorf("%f a second, of 200 used in 20 seconds", got.PerSecond)
	}
	if got.Last != 10*time.Second || got.Slowest != 10*time.Second || got.Total != 10*time.Second+3*time.Millisecond || got.Err != nil {
		t.Errorf("the times are %+v", got)
	}
	if len(got.Buckets) != keysource.FetchBuckets || got.Buckets[2].Count != 0 || got.Buckets[3].Count != 1 || got.Buckets[keysource.FetchBuckets-1].Count != 1 || got.Fetches != 2 {
		t.Errorf("the buckets are %v of %d fetches: want one within 5ms, and one in none", got.Buckets, got.Fetches)
	}
	if got := m.Fetching(start.Add(20*time.Second+3*time.Hour), 0); got.PerSecond > 0.01 {
		t.Errorf("%f a second, three hours later", got.PerSecond)
	}
}
