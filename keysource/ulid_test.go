package keysource_test

import (
	"errors"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestULIDVectors takes its texts from the specification's README.
func TestULIDVectors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		milli  int64
		random string
		layout dialect.Layout
		want   string
	}{
		{"first example", 1469922850259, "d6764c61efb99302bd5b", str, "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
		{"first example, binary", 1469922850259, "d6764c61efb99302bd5b", bin, "01563e3ab5d3d6764c61efb99302bd5b"},
		{"diagram", 1465824320894, "3a66a08c07ce13d25363", str, "01AN4Z07BY79KA1307SR9X4MV3"},
		{"monotonicity", 1508808576371, "5334ada78edc1d4a6f1f", str, "01BX5ZZKBKACTAV9WEVGEMMVRZ"},
		{"smallest", 0, "00000000000000000000", str, "00000000000000000000000000"},
		{"largest", 1<<48 - 1, "ffffffffffffffffffff", str, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := keysource.NewULID(keysource.Env{
				Now: frozen(time.UnixMilli(tt.milli)), Rand: bytesOf(t, tt.random),
			})
			if got := text(t, next(t, s, tt.layout, 1)[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestULIDSteps(t *testing.T) {
	const (
		milli   = 1508808576371 // of 01BX5ZZKBK
		seed    = "5334ada78edc1d4a6f1f"
		one     = "aaaaaaaaaaaa00000000"
		most    = "aaaaaaaaaaaaffffffff"
		highest = "ffffffffffffffffffff"
	)
	for _, tt := range []struct {
		name   string
		random []string
		want   []string
	}{
		{"smallest step", []string{seed, one},
			[]string{"01BX5ZZKBKACTAV9WEVGEMMVRZ", "01BX5ZZKBKACTAV9WEVGEMMVS0"}},
		{"largest step", []string{"00000000000000000000", most},
			[]string{"01BX5ZZKBK0000000000000000", "01BX5ZZKBK0000000004000000"}},
		{"carry into the upper bits", []string{"0000ffffffffffffffff", one},
			[]string{"01BX5ZZKBK000FZZZZZZZZZZZZ", "01BX5ZZKBK000G000000000000"}},
		{"overflow", []string{highest, seed, one},
			[]string{"01BX5ZZKBKZZZZZZZZZZZZZZZZ", "01BX5ZZKBMACTAV9WEVGEMMVRZ", "01BX5ZZKBMACTAV9WEVGEMMVS0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := keysource.Env{Now: frozen(time.UnixMilli(milli)), Rand: bytesOf(t, tt.random...)}
			got := next(t, keysource.NewULID(env), str, len(tt.want))
			env.Rand = bytesOf(t, tt.random...)
			calls := keysource.NewULID(env)
			for i, want := range tt.want {
				if got[i] != want {
					t.Errorf("key %d of a request is %s, want %s", i, got[i], want)
				}
				if key := next(t, calls, str, 1)[0]; key != want {
					t.Errorf("key %d of its own is %s, want %s", i, key, want)
				}
			}
		})
	}
}

// TestULIDEnds: a request that would run over the last millisecond fails as a
// whole, and takes nothing.
func TestULIDEnds(t *testing.T) {
	const top, low = "fffffffffffffffffffd", "00000000000000000000"
	s := keysource.NewULID(keysource.Env{
		Now:  frozen(time.UnixMilli(1<<48 - 1)),
		Rand: bytesOf(t, top, low, top, low, low, low, low, low),
	})
	if got, want := next(t, s, str, 2)[1], "7ZZZZZZZZZZZZZZZZZZZZZZZZY"; got != want {
		t.Fatalf("the second key is %s, want %s", got, want)
	}
	for n := 2; n <= 3; n++ {
		_, err := s.Next(t.Context(), keysource.Request{N: n, Layout: str})
		if !errors.Is(err, keysource.ErrClock) {
			t.Errorf("%d keys where there is one left: %v, want ErrClock", n, err)
		}
	}
	if got, want := next(t, s, str, 1)[0], "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"; got != want {
		t.Errorf("the last key is %s, want %s", got, want)
	}
}

func TestULIDLayout(t *testing.T) {
	keys, err := keysource.NewULID(keysource.Env{}).Next(t.Context(), keysource.Request{N: 1, Layout: atEnd})
	if keys != nil || !errors.Is(err, keysource.ErrLayout) {
		t.Errorf("Next = %d keys, %v, want none, ErrLayout", len(keys), err)
	}
}

// TestULIDOlderMillisecond: a key of an older millisecond continues the newer
// one, with a step and not with new random bits.
func TestULIDOlderMillisecond(t *testing.T) {
	clock := newSetClock(time.UnixMilli(1508808576371))
	s := keysource.NewULID(clock.env())
	next(t, s, str, 1)
	clock.set(time.UnixMilli(1508808576370))
	if got, want := next(t, s, str, 1)[0], "01BX5ZZKBK0000000000000001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
