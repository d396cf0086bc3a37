package trial_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/trial"
)

// TestDollars: the caller's $n may get other numbers if every driver finds the arguments
// that it found.
func TestDollars(t *testing.T) {
	const (
		rows   = "INSERT INTO t (a) VALUES ($1), ($2)"
		upsert = "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2 || $1"
		listed = "INSERT INTO t (kf_id, a) VALUES ($1, $2), (NULL, $3)"
		wild   = "INSERT INTO t (a, b) VALUES ($2, $1)"
	)
	cases := []struct {
		name, query, filled string
		slots               []int
		right               bool
	}{
		{"the others go up", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($3, $4)", []int{2, 4}, true},
		{"a slot of the caller's", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($3, $4)", []int{2, 3}, false},
		{"the slots exchanged", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($3, $4)", []int{4, 2}, false},
		{"a slot missing", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($3, $4)", []int{2}, false},
		{"right by the digits alone", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $3), ($2, $4)", []int{3, 4}, false},
		{"the caller's second went", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($2, $4)", []int{2, 4}, false},
		{"the caller's exchanged", rows, "INSERT INTO t (a, kf_id) VALUES ($3, $2), ($1, $4)", []int{2, 4}, false},
		{"one key for two rows", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($3, $2)", []int{2, 2}, false},
		{"a key where a value was", rows, "INSERT INTO t (a, kf_id) VALUES ($1, $2), ($4, $3)", []int{2, 4}, false},
		{"another style", rows, "INSERT INTO t (a, kf_id) VALUES ($1, ?2), ($3, ?4)", []int{2, 4}, false},
		{"behind the rows too", upsert, "INSERT INTO t (a, kf_id) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = $3 || $1", []int{2}, true},
		{"not behind the rows", upsert, "INSERT INTO t (a, kf_id) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = $2 || $1", []int{2}, false},
		{"what did not move moved", upsert, "INSERT INTO t (a, kf_id) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = $3 || $3", []int{2}, false},
		{"beside a key of the caller's", listed, "INSERT INTO t (kf_id, a) VALUES ($1, $2), ($3, $4)", []int{3}, true},
		{"in its place", listed, "INSERT INTO t (kf_id, a) VALUES ($1, $2), ($3, $4)", []int{1}, false},
		{"between $n in no order", wild, "INSERT INTO t (a, b, kf_id) VALUES ($2, $1, $3)", []int{3}, true},
		{"in front of $n in no order", "INSERT INTO t (a) VALUES ($2), ($1)", "INSERT INTO t (a, kf_id) VALUES ($2, $3), ($1, $4)", []int{3, 4}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answer := explain.Explanation{Action: "fill", SQL: c.filled}
			for _, n := range c.slots {
				answer.Slots = append(answer.Slots, explain.Slot{Arg: n})
			}
			v := court(t, "sqlite", func(string) (explain.Explanation, error) { return answer, nil }).Try(c.query)
			if (v.Wrong == "") != c.right || v.Judge != trial.Parser {
				t.Errorf("Try(%q) = %+v for %q", c.query, v, c.filled)
			}
		})
	}
}

// TestKeyfillDollars: keyfill's own answers are right.
func TestKeyfillDollars(t *testing.T) {
	c := court(t, "sqlite", nil)
	for _, query := range []string{
		"INSERT INTO t (a) VALUES ($1), ($2), ($3)",
		"INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2 || $1",
		"INSERT INTO t (kf_id, a) VALUES (NULL, $1), ($2, $3) ON CONFLICT (a) DO UPDATE SET b = $4",
		"INSERT INTO t (a, b) VALUES ($2, $1), ($1, $3)",
	} {
		if v := c.Try(query); v.Action != "fill" || v.Wrong != "" || v.Missed {
			t.Errorf("%q: %+v", c.Answer(query), v)
		}
	}
}
