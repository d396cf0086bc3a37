package conformance

import (
	"context"
	"testing"
	"time"
)

// TestRate: rows are paid for at the rate, by a clock of the test's.
func TestRate(t *testing.T) {
	now, slept := time.Unix(1000, 0), time.Duration(0)
	r := newRate(500)
	r.now = func() time.Time { return now }
	r.sleep = func(_ context.Context, d time.Duration) error {
		slept += d
		now = now.Add(d)
		return nil
	}
	for range 101 {
		if err := r.wait(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
	}
	if slept != 10*time.Second { // 5,000 rows were stored before the last 50
		t.Errorf("5000 rows at 500 a second waited %v", slept)
	}
	now = now.Add(time.Minute) // what was not used is not saved up
	before := slept
	for range 11 {
		if err := r.wait(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
	}
	if slept-before != time.Second {
		t.Errorf("500 rows after a pause waited %v", slept-before)
	}
}
