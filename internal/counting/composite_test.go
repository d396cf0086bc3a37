package counting_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

func newComposite(t testing.TB, length int) *keysource.Composite {
	t.Helper()
	c, err := keysource.NewComposite(length)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// composites returns n keys of a snowflake with the bits of c, as a statement of
// n rows gets them: of length 20 each from a call of its own.
func composites(t testing.TB, c *keysource.Composite, s *counting.Snowflake, n int) []driver.Value {
	t.Helper()
	var keys []driver.Value
	for range n {
		first, err := s.Reserve(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		more, err := mapping.Keys(c, first, 1, str)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, more...)
	}
	return keys
}

// TestCompositeVectors: every part has all its digits, in UTC, whatever the
// zone of the clock.
func TestCompositeVectors(t *testing.T) {
	east := time.FixedZone("east", 14*60*60)
	for _, tt := range []struct {
		length, worker int
		now            time.Time
		want           string
	}{
		{20, 125, time.Date(2026, 6, 2, 12, 0, 0, 123_000_000, time.UTC), "12520260602120000123"},
		{20, 0, time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC), "00020260102030405006"},
		{20, 7, time.Date(2026, 1, 1, 2, 0, 0, 0, east), "00720251231120000000"},
		{20, 999, time.Date(2089, 9, 6, 15, 47, 35, 551_000_000, time.UTC), "99920890906154735551"},
		{24, 125, time.Date(2026, 6, 2, 12, 0, 0, 123_999_999, time.UTC), "125202606021200001230000"},
		{24, 99, time.Date(2024, 2, 29, 23, 59, 59, 999_000_000, time.UTC), "099202402292359599990000"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			c := newComposite(t, tt.length)
			s := newSnowflake(t, keysource.SnowflakeOptions{Bits: c.Bits(), Worker: &tt.worker, Marker: new(markStore)},
				keysource.Env{Now: frozen(tt.now)})
			first := one(t, s, 1)
			if key := c.Key(first, str); key != tt.want {
				t.Fatalf("Key = %v, want %s", key, tt.want)
			}
			if number, err := c.Number(tt.want); err != nil || number != first {
				t.Errorf("Number = %d, %v, want %d", number, err, first)
			}
		})
	}
	c := newComposite(t, 24)
	s := newSnowflake(t, keysource.SnowflakeOptions{Bits: c.Bits(), Marker: new(markStore)}, keysource.Env{Now: frozen(present)})
	first := one(t, s, 4096)
	for sequence, want := range map[int64]string{0: "0000", 42: "0042", 4095: "4095"} {
		if key := c.Key(first+sequence, str); key != "00520260304050607000"+want {
			t.Errorf("counter %d: %v", sequence, key)
		}
	}
	if key := c.Key(one(t, s, 1), str); key != "005202603040506070010000" {
		t.Errorf("the next millisecond: %v", key)
	}
}

// TestCompositeRows: a statement of 100 rows has 100 consecutive milliseconds,
// less than three seconds ahead of a clock that stands; one of 5,000 waits for the
// clock, and its keys ascend.
func TestCompositeRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComposite(t, 20)
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{Bits: c.Bits(), Marker: new(markStore)}, clock.env())
		began := time.Now()
		for i, key := range composites(t, c, s, 100) {
			want := "005" + strings.Replace(present.Add(time.Duration(i)*time.Millisecond).Format("20060102150405.000"), ".", "", 1)
			if key != want {
				t.Fatalf("row %d is %v, want %s", i, key, want)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("100 rows waited for %s", waited)
		}
		last := ""
		for i, key := range composites(t, c, s, 5000) {
			if key.(string) <= last {
				t.Fatalf("row %d: %v follows %s", i, key, last)
			}
			last = key.(string)
		}
		// 5,100 milliseconds are used, of which 3,000 may be ahead. Where ticks are used up as
		// fast as that, an eighth of the time is given up at first: see reach.
		if waited := time.Since(began); waited < 2*time.Second || waited > 2450*time.Millisecond {
			t.Errorf("5,000 rows waited for %s", waited)
		}
		clock.freeze() // the wait ends with the context
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		for range 3500 {
			if _, err = s.Reserve(ctx, 1); err != nil {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond the cap: %v", err)
		}
	})
}

// TestCompositeUnique: 16 goroutines, clocks that are set back, a restart: no key twice,
// and the keys of a spread ascend.
func TestCompositeUnique(t *testing.T) {
	for _, length := range []int{20, 24} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// A key takes a timer of its own, and the race detector ends a process
				// in which a bubble has had some ten thousand of them (golang/go#78156).
				const goroutines, each = 16, 60
				c := newComposite(t, length)
				store := new(markStore)
				clock := newStepClock()
				seen := map[driver.Value]bool{}
				last := ""
				for _, back := range []time.Duration{0, time.Second, 5 * time.Second} {
					clock.step(-back)
					s := newSnowflake(t, keysource.SnowflakeOptions{Bits: c.Bits(), Marker: store}, clock.env())
					made := make([][]driver.Value, goroutines)
					var wg sync.WaitGroup
					for g := range made {
						wg.Go(func() { made[g] = composites(t, c, s, each) })
					}
					wg.Wait()
					highest := last
					for _, keys := range made {
						before := last
						for _, key := range keys {
							if seen[key] || key.(string) <= before || len(key.(string)) != length {
								t.Fatalf("key %v follows %s, or is there already", key, before)
							}
							seen[key], before = true, key.(string)
						}
						highest = max(highest, before)
					}
					last = highest
					if err := s.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if len(seen) != 3*goroutines*each {
					t.Errorf("%d keys", len(seen))
				}
			})
		})
	}
}

// TestCompositeSpread: what is wider than three digits is refused, wherever the
// number comes from.
func TestCompositeSpread(t *testing.T) {
	for _, length := range []int{20, 24} {
		bits, err := keysource.CompositeBits(length)
		if err != nil || bits.Check() != nil {
			t.Fatal(err, bits.Check())
		}
		if end := bits.End().Format(time.DateOnly); end != "2089-09-06" {
			t.Errorf("length %d ends on %s", length, end)
		}
		t.Setenv("SPREAD", "1000")
		for name, o := range map[string]keysource.SnowflakeOptions{
			"worker":      {Bits: bits, Worker: new(1000)},
			"environment": {Bits: bits, WorkerEnv: "SPREAD"},
		} {
			s, err := counting.NewSnowflake(nil, o, keysource.Env{Now: frozen(present)})
			if s != nil || !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), "0 to 999") {
				t.Errorf("%s 1000: %v, %v", name, s, err)
			}
		}
		newSnowflake(t, keysource.SnowflakeOptions{Bits: bits, Worker: new(999)}, keysource.Env{Now: frozen(present)})
	}
	for text, want := range map[string]int{"0": 0, "7": 7, "42": 42, "999": 999} {
		if n, err := keysource.ParseSpread(text); err != nil || n != want {
			t.Errorf("ParseSpread(%q) = %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "1000", "0999", "007", "-1", "+1", " 1", "1.5", "abc", "12345678901234567890"} {
		if _, err := keysource.ParseSpread(text); !errors.Is(err, keysource.ErrOptions) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("ParseSpread(%q): %v", text, err)
		}
	}
	for _, length := range []int{-1, 0, 19, 21, 23, 25} {
		if c, err := keysource.NewComposite(length); c != nil || !errors.Is(err, keysource.ErrOptions) {
			t.Errorf("length %d: %v, %v", length, c, err)
		}
	}
}

// TestCompositeEnds: the source ends with its bits of time, before the text
// does.
func TestCompositeEnds(t *testing.T) {
	c := newComposite(t, 20)
	end := c.Bits().End()
	s := newSnowflake(t, keysource.SnowflakeOptions{Bits: c.Bits(), Worker: new(999), Marker: new(markStore)},
		keysource.Env{Now: frozen(end.Add(-2 * time.Millisecond))})
	keys := composites(t, c, s, 2)
	if keys[1] != "99920890906154735551" || c.Key(c.Last(), str) != keys[1] {
		t.Errorf("the last key is %v, by Last %v", keys[1], c.Key(c.Last(), str))
	}
	if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("after the last: %v", err)
	}
}

func TestCompositeNumberOfOthers(t *testing.T) {
	for _, tt := range []struct {
		length int
		text   string
	}{
		{20, ""},
		{20, "1252026060212000012"},
		{20, "125202606021200001230"},
		{20, "125202606021200001230000"},
		{24, "12520260602120000123"},
		{20, "1252026060212000012a"},
		{20, "12520260602120000 23"},
		{20, "-2520260602120000123"},
		{20, "12520261302120000123"}, // the 13th month
		{20, "12520260230120000123"}, // the 30th of February
		{20, "12520260602240000123"},
		{20, "12520260602126000123"},
		{20, "12520260602120060123"},
		{20, "12520191231235959999"}, // before the epoch
		{20, "12520890906154735552"}, // after the end
		{24, "125202606021200001234096"},
	} {
		if number, err := newComposite(t, tt.length).Number(tt.text); !errors.Is(err, keysource.ErrOtherKey) {
			t.Errorf("length %d: Number(%q) = %d, %v", tt.length, tt.text, number, err)
		}
	}
}

// TestCompositeRange: the keys of a spread are within its range, and its neighbours' keys
// are not.
func TestCompositeRange(t *testing.T) {
	for _, length := range []int{20, 24} {
		c, err := keysource.NewComposite(length)
		if err != nil {
			t.Fatal(err)
		}
		for spread, want := range map[int]bool{6: false, 7: true, 8: false} {
			from, to := c.Range(7)
			number, err := c.Number(fmt.Sprintf("%03d", spread) + "20260708091011123000000"[:length-3])
			if err != nil {
				t.Fatal(err)
			}
			key := c.Key(number, str).(string)
			if got := from <= key && key <= to; got != want {
				t.Errorf("%s from %s to %s: %v", key, from, to, got)
			}
		}
	}
}
