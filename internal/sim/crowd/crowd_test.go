package crowd_test

import (
	"math"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim/crowd"
)

// row locks the state's row for a millisecond, so that it gives 1,000 blocks a second.
var row = crowd.Model{Held: time.Millisecond, Away: 3 * time.Millisecond}

// TestCrowd compares the rows, the reservations and the lock time of the simulator with their
// computed values, for loads below the limit of the state's row and at the limit.
func TestCrowd(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		model                  crowd.Model
		crowd                  crowd.Crowd
		rows, reserved, locked float64
	}{
		{"one process waits for each key", row, crowd.Crowd{Processes: 1, Block: 1}, 250, 250, 0.25},
		{"the row is the limit", row, crowd.Crowd{Processes: 64, Block: 1}, 1000, 1000, 1},
		{"below the limit", row, crowd.Crowd{Processes: 10, Block: 1, PerSecond: 20}, 200, 200, 0.2},
		{"blocks move the limit", row, crowd.Crowd{Processes: 100, Block: 10, PerSecond: 20}, 2000, 200, 0.2},
		{"many more processes than the row has time for", row, crowd.Crowd{Processes: 400, Block: 1, PerSecond: 20}, 1000, 1000, 1},
		{"one sync answers all that wait, half of the processes", crowd.Model{Together: true, Held: 10 * time.Millisecond}, crowd.Crowd{Processes: 100, Block: 1}, 5000, 5000, 1},
		{"waits cost time", crowd.Model{Held: time.Millisecond, Waiter: 100 * time.Microsecond}, crowd.Crowd{Processes: 11, Block: 1}, 500, 500, 1},
		{"each costs as much as a sync", crowd.Model{Together: true, Each: time.Millisecond}, crowd.Crowd{Processes: 50, Block: 1}, 1000, 1000, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.crowd.Warm, tt.crowd.Lasts = 2*time.Second, 5*time.Second
			got := crowd.Run(t, tt.model, tt.crowd)
			for _, one := range []struct {
				what      string
				got, want float64
			}{{"rows", got.Rows, tt.rows}, {"reservations", got.Reservations, tt.reserved}, {"the lock's share", got.Locked, tt.locked}} {
				if math.Abs(one.got-one.want) > 0.05*one.want {
					t.Errorf("%s: %.3f, want %.3f", one.what, one.got, one.want)
				}
			}
			if got.Errors > 0 {
				t.Errorf("%.1f INSERTs a second without a key", got.Errors)
			}
		})
	}
}

// TestCrowdFollows: a block that follows the use lasts ten to twenty seconds, but for one
// that has just doubled.
func TestCrowdFollows(t *testing.T) {
	got := crowd.Run(t, row, crowd.Crowd{Processes: 10, PerSecond: 30, Warm: time.Minute, Lasts: 4 * time.Minute})
	if got.Rows < 290 || got.Reservations < 0.5 || got.Reservations > 1 {
		t.Errorf("%+v: want 300 rows and 0.5 to 1 reservations a second", got)
	}
}

// TestCrowdTooMany: processes that wait longer than a reservation may take give up, and some
// INSERTs get no key.
func TestCrowdTooMany(t *testing.T) {
	got := crowd.Run(t, crowd.Model{Held: 100 * time.Millisecond}, crowd.Crowd{Processes: 400, Block: 1, PerSecond: 1, Warm: 30 * time.Second, Lasts: 30 * time.Second})
	if got.Errors == 0 || got.Rows > 10.5 {
		t.Errorf("%+v: want errors, and at most 10 rows a second", got)
	}
}

// TestFit: a model that was made of rates has these rates.
func TestFit(t *testing.T) {
	for _, want := range []crowd.Model{
		row,
		{Held: time.Millisecond, Away: 0},
		{Held: time.Millisecond, Away: time.Millisecond, Waiter: 50 * time.Microsecond},
		{Together: true, Held: 2 * time.Millisecond, Each: 100 * time.Microsecond},
		{Together: true, Held: 3 * time.Millisecond},
	} {
		rate := func(processes int) float64 {
			return crowd.Run(t, want, crowd.Crowd{Processes: processes, Block: 1, Warm: time.Second, Lasts: 3 * time.Second}).Reservations
		}
		got := crowd.Fit(want.Together, rate(crowd.Alone), rate(crowd.Few), rate(crowd.Many))
		for _, one := range [][2]time.Duration{{got.Held, want.Held}, {got.Away, want.Away}, {got.Each, want.Each}, {got.Waiter, want.Waiter}} {
			if (one[0] - one[1]).Abs() > max(one[1]/10, 20*time.Microsecond) {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
}
