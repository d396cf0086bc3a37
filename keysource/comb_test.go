package keysource_test

import (
	"bytes"
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

func TestCOMBVectors(t *testing.T) {
	const random = "4ed540122e27653a9d13"
	for _, tt := range []struct {
		name   string
		random string
		epoch  keysource.Epoch
		layout dialect.Layout
		want   string
	}{
		{"dotnet string", random, keysource.EpochDotNet, str, "39babcb4-e446-4ed5-4012-2e27653a9d13"},
		{"dotnet binary", random, keysource.EpochDotNet, bin, "39babcb4e4464ed540122e27653a9d13"},
		{"dotnet at end", random, keysource.EpochDotNet, atEnd, "1240d54e-272e-3a65-9d13-39babcb4e446"},
		{"unix string", random, keysource.EpochUnix, str, "0137aa88-0c46-4ed5-4012-2e27653a9d13"},
		{"unix binary", random, keysource.EpochUnix, bin, "0137aa880c464ed540122e27653a9d13"},
		{"unix at end", random, keysource.EpochUnix, atEnd, "1240d54e-272e-3a65-9d13-0137aa880c46"},
		{"RT.Comb Sql", "11112222333344445555", keysource.EpochUnix, atEnd, "22221111-3333-4444-5555-0137aa880c46"},
		{"no epoch is dotnet", random, "", str, "39babcb4-e446-4ed5-4012-2e27653a9d13"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := keysource.NewCOMB(keysource.Env{Now: frozen(instant), Rand: bytesOf(t, tt.random)}, tt.epoch)
			if got := text(t, next(t, s, tt.layout, 1)[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestCOMBStored checks the bytes under which SQL Server stores the text: the
// random ones as they were read, then the time.
func TestCOMBStored(t *testing.T) {
	for epoch, want := range map[keysource.Epoch]string{
		keysource.EpochDotNet: "4ed540122e27653a9d1339babcb4e446",
		keysource.EpochUnix:   "4ed540122e27653a9d130137aa880c46",
	} {
		s := keysource.NewCOMB(keysource.Env{Now: frozen(instant), Rand: bytesOf(t, "4ed540122e27653a9d13")}, epoch)
		if got := text(t, stored(t, text(t, next(t, s, atEnd, 1)[0]))); got != want {
			t.Errorf("%s: stored as %s, want %s", epoch, got, want)
		}
	}
}

// TestCOMBOrder: from millisecond to millisecond the index order is the order
// of generation, over requests of many keys too.
func TestCOMBOrder(t *testing.T) {
	for _, layout := range []dialect.Layout{str, bin, atEnd} {
		t.Run(string(layout), func(t *testing.T) {
			clock := &walker{start: instant, step: time.Millisecond}
			s := keysource.NewCOMB(keysource.Env{Now: clock.now, Rand: newStream()}, keysource.EpochDotNet)
			var last string
			for i := range 5000 {
				for _, key := range next(t, s, layout, 1+i%3) {
					k := indexed(t, layout, key)
					if k <= last {
						t.Fatalf("request %d: %x follows %x", i, k, last)
					}
					last = k
				}
			}
		})
	}
}

// TestCOMBTimeNeverGoesBack: a clock that does leaves the time at the last
// key's, without a wait, until it is ahead again.
func TestCOMBTimeNeverGoesBack(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			clock := newSetClock(instant)
			s := keysource.NewCOMB(clock.env(), keysource.EpochUnix)
			for _, step := range []struct {
				now  time.Time
				want string
			}{
				{instant, "0137aa88-0c46-0000-0000-000000000000"},
				{instant.Add(-back), "0137aa88-0c46-0000-0000-000000000000"},
				{instant.Add(-1), "0137aa88-0c46-0000-0000-000000000000"},
				{instant.Add(time.Millisecond), "0137aa88-0c47-0000-0000-000000000000"},
			} {
				clock.set(step.now)
				if got := next(t, s, str, 1)[0]; got != step.want {
					t.Errorf("at %v: %s, want %s", step.now, got, step.want)
				}
			}
		})
	}
}

// TestCOMBSorts: combs of crypto/rand ascend in requests of every size. One that
// gives zeros makes equal ones, which do not descend.
func TestCOMBSorts(t *testing.T) {
	for name, r := range map[string]io.Reader{"even": rand.Reader, "counting": new(tally), "zeros": zeros{}} {
		t.Run(name, func(t *testing.T) {
			replaceCryptoRand(t, r)
			s := keysource.NewCOMB(keysource.Env{Now: frozen(instant)}, keysource.EpochUnix)
			for _, n := range []int{2, 3, 64, 127, 128, 129, 1000, 1024, 1025, 3000} {
				keys, err := s.Append16(t.Context(), nil, keysource.Request{N: n, Layout: bin})
				if err != nil || len(keys) != n {
					t.Fatalf("Append16(%d) = %d keys, %v", n, len(keys), err)
				}
				for i := 1; i < n; i++ {
					if bytes.Compare(keys[i-1][:], keys[i][:]) > 0 {
						t.Fatalf("of %d keys the %dth is %x, after %x", n, i+1, keys[i], keys[i-1])
					}
				}
			}
		})
	}
}

// TestLayEvenly: whatever the distribution, no tail is lost.
func TestLayEvenly(t *testing.T) {
	r := mathrand.New(mathrand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 100, 1024} {
		for name, make := range map[string]func(i int) (uint64, uint16){
			"even":       func(int) (uint64, uint16) { return r.Uint64(), uint16(r.Uint32()) },
			"one bucket": func(int) (uint64, uint16) { return r.Uint64() >> 8, 0 },
			"equal":      func(int) (uint64, uint16) { return 7, uint16(r.Uint32()) },
			"descending": func(i int) (uint64, uint16) { return uint64(n - i), 1 },
		} {
			var his []uint64
			var los []uint16
			for i := range n {
				hi, lo := make(i)
				his, los = append(his, hi), append(los, lo)
			}
			if !keysource.LayEvenlyAsSlices(his, los) {
				t.Errorf("%s, %d tails: they are not as slices.SortFunc has them", name, n)
			}
		}
	}
}
