package speed_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/judge/speed"
)

func TestMeasure(t *testing.T) {
	s, err := speed.New("postgres", "kf_id", true)
	if err != nil {
		t.Fatal(err)
	}
	const query = "INSERT INTO t (a) VALUES ($1)"
	got, ok := s.Measure("one", query)
	if !ok || got.ID != "one" || got.Bytes != len(query) || got.Best <= 0 {
		t.Errorf("Measure(%q) = %+v, %v", query, got, ok)
	}
	if got, ok := s.Measure("two", "SELECT 1"); ok {
		t.Errorf("a query was measured: %+v", got)
	}
}

func TestFit(t *testing.T) {
	var samples []speed.Sample
	for _, n := range []int{10, 500, 90000} {
		samples = append(samples, speed.Sample{Bytes: n, Best: time.Duration(700 + 3*n)})
	}
	fixed, perByte := speed.Fit(samples)
	if math.Abs(fixed-700) > 0.01 || math.Abs(perByte-3) > 0.0001 {
		t.Errorf("Fit = %v ns + %v ns/byte, want 700 + 3", fixed, perByte)
	}
}

func TestPrint(t *testing.T) {
	samples := []speed.Sample{{"quick", 40, 900}, {"slow", 100, 2300}}
	if over := samples[1].Over(); over != 8 {
		t.Errorf("Over = %v, want 8", over)
	}
	var b bytes.Buffer
	if err := speed.Print(&b, "postgres", samples, 1); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if !strings.Contains(out, "above the bar: 1") || !strings.Contains(out, "slow ") || strings.Contains(out, "quick") {
		t.Errorf("printed:\n%s", out)
	}
}
