package keysource_test

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// TestScatterPermutes goes through all numbers of small widths, by the same
// code: each key comes once, from 1 to the last, and leads back.
func TestScatterPermutes(t *testing.T) {
	for width := 2; width <= 20; width++ {
		for _, key := range []string{"a", "another key", strings.Repeat("long", 100)} {
			s := keysource.NewScatterOf(width, key)
			last := s.Last()
			if last != 1<<width-1 {
				t.Fatalf("%d bits have %d keys", width, last)
			}
			seen := make([]bool, last+1)
			for number := int64(1); number <= last; number++ {
				key := s.Key(number, "").(int64)
				if key < 1 || key > last || seen[key] {
					t.Fatalf("%d bits: number %d gives key %d, out of range or again", width, number, key)
				}
				seen[key] = true
				if got, err := s.Number(key); err != nil || got != number {
					t.Fatalf("%d bits: key %d is of number %d, %v, want %d", width, key, got, err, number)
				}
			}
		}
	}
}

// TestScatterGolden: a key that was made once is made for ever. A change of any value
// makes keys twice in existing tables.
func TestScatterGolden(t *testing.T) {
	for _, tt := range []struct {
		bits   int
		key    string
		number int64
		want   int64
	}{
		{31, "a", 1, 1246841160}, {31, "a", 2, 106702569},
		{31, "a", 2147483647, 1919942414}, {31, "orders", 1, 1049836446},
		{53, "a", 1, 6944224220808453}, {53, "a", 2, 555068635321334},
		{53, "a", 9007199254740991, 8863261952584376}, {53, "orders", 1000000, 650561110267112},
		{63, "a", 1, 4666965790083131373}, {63, "a", 2, 7398300122048617898},
		{63, "a", 9223372036854775807, 8358671105634089438}, {63, "orders", 1, 1112639146214192612},
		{63, "Größe", 42, 7925816360480786792},
	} {
		s, err := keysource.NewScatter(tt.bits, tt.key)
		if err != nil {
			t.Fatal(err)
		}
		if key := s.Key(tt.number, ""); key != tt.want {
			t.Errorf("{%d, %q, %d, %d},", tt.bits, tt.key, tt.number, key)
		}
		if number, err := s.Number(tt.want); err != nil || number != tt.number {
			t.Errorf("%d bits, key %q: %d is of number %d, %v", tt.bits, tt.key, tt.want, number, err)
		}
	}
	s, err := keysource.NewScatter(63, "orders")
	if err != nil {
		t.Fatal(err)
	}
	const parameters = "scatter: version 1, bits 63, key b54c1a37a0660b577d9ba53bcc8a7f9f"
	if got := s.Parameters(); got != parameters {
		t.Errorf("Parameters() = %q, want %q", got, parameters)
	}
}

// TestScatterSpreads looks at the keys of consecutive numbers in the real
// widths: as many in each of 256 equal ranges as of random keys, no two the
// same, half of the bits changed by one bit of the number, and every number
// found again.
func TestScatterSpreads(t *testing.T) {
	const keys, ranges = 1 << 18, 256
	for _, width := range []int{31, 53, 63} {
		for _, first := range []int64{1, 1 << 20, 1<<(width-1) - keys/2, math.MaxInt64>>(63-width) - keys + 1} {
			t.Run(fmt.Sprintf("%d/%d", width, first), func(t *testing.T) {
				s, err := keysource.NewScatter(width, "orders")
				if err != nil {
					t.Fatal(err)
				}
				var high, low [ranges]float64
				for number := first; number-first < keys; number++ {
					key := s.Key(number, "").(int64)
					if key < 1 || key > s.Last() {
						t.Fatalf("number %d gives key %d, out of range", number, key)
					}
					high[key>>(width-8)]++
					low[key&(ranges-1)]++
					// A key that two numbers had could not lead back to both.
					if got, err := s.Number(key); err != nil || got != number {
						t.Fatalf("key %d is of number %d, %v, want %d", key, got, err, number)
					}
				}
				for name, counts := range map[string][ranges]float64{"high": high, "low": low} {
					var chi float64
					for _, n := range counts {
						chi += (n - keys/ranges) * (n - keys/ranges) / (keys / ranges)
					}
					// 255 degrees of freedom: mean 255, deviation 22.6.
					if chi < 140 || chi > 370 {
						t.Errorf("chi-square of the %s bits is %.0f", name, chi)
					}
				}
			})
		}
	}
}

// TestScatterAvalanche: one bit of the number, or another key, changes each bit
// of the key in half of all cases.
func TestScatterAvalanche(t *testing.T) {
	const trials = 20_000
	for _, width := range []int{31, 53, 63} {
		s, err := keysource.NewScatter(width, "orders")
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, uint64(width)))
		for bit := range width {
			var changed int
			for range trials {
				x := r.Uint64() >> (64 - width)
				changed += bits.OnesCount64(s.Permute(x) ^ s.Permute(x^1<<bit))
			}
			if share := float64(changed) / trials / float64(width); share < 0.49 || share > 0.51 {
				t.Errorf("%d bits: bit %d changes %.3f of the bits", width, bit, share)
			}
		}
	}
}

func TestScatterOptions(t *testing.T) {
	for _, width := range []int{-1, 0, 1, 30, 32, 52, 54, 62, 64} {
		if s, err := keysource.NewScatter(width, "orders"); s != nil || !errors.Is(err, keysource.ErrOptions) {
			t.Errorf("%d bits: %v, %v", width, s, err)
		}
	}
	if s, err := keysource.NewScatter(63, ""); s != nil || !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("no key: %v, %v", s, err)
	}
	one, err := keysource.NewScatter(63, "top secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		bits int
		key  string
	}{{63, "top secret "}, {53, "top secret"}, {31, "top secret"}} {
		other, err := keysource.NewScatter(o.bits, o.key)
		if err != nil {
			t.Fatal(err)
		}
		if one.Parameters() == other.Parameters() || one.Key(1, "") == other.Key(1, "") {
			t.Errorf("%d bits with key %q are like 63 bits with another", o.bits, o.key)
		}
	}
	if strings.Contains(one.Parameters(), "secret") {
		t.Errorf("Parameters() = %q", one.Parameters())
	}
	if got := one.Key(7, str); got != fmt.Sprint(one.Key(7, "")) {
		t.Errorf("Key(7, string) = %v", got)
	}
	for _, key := range []int64{math.MinInt64, -1, 0} {
		if _, err := one.Number(key); !errors.Is(err, keysource.ErrOtherKey) {
			t.Errorf("Number(%d): %v", key, err)
		}
	}
}
