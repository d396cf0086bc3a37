package keysource_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// TestChooseK: k has no divisor in common with n, is of the order of n, and far
// from all fractions of it with a small denominator; and it is what it was in
// every release.
func TestChooseK(t *testing.T) {
	for _, tt := range []struct {
		size   int64
		length int
		want   int64
	}{
		{2, 1, 1},
		{2, 2, 3},
		{2, 10, 633},
		{3, 1, 1},
		{5, 1, 3},
		{10, 1, 7},
		{10, 6, 618033},
		{62, 1, 39},
		{6, 3, 133},
		{62, 2, 2375},
		{62, 3, 147295},
		{62, 4, 9132277},
		{62, 6, 35104476159},
		{62, 7, 2176477521909},
		{62, 10, 518715534842867673},
		{32, 6, 663608943},
		{32, 7, 21235486155},
		{32, 8, 679535556985},
		{32, 9, 21745137823721},
		{32, 12, 712544676207699911},
		{64, 10, 712544676207699915},
	} {
		n := int64(1)
		for range tt.length {
			n *= tt.size
		}
		if got := keysource.ChooseK(n, tt.size); got != tt.want {
			t.Errorf("{%d, %d, %d},", tt.size, tt.length, got)
		}
	}
	for size := int64(2); size <= 64; size++ {
		for n := size; ; n *= size {
			checkK(t, n, size)
			if n > math.MaxInt64/size {
				break
			}
		}
	}
}

func checkK(t *testing.T, n, size int64) {
	t.Helper()
	k := keysource.ChooseK(n, size)
	last := k % size
	if k < 1 || k >= n || new(big.Int).GCD(nil, nil, big.NewInt(k), big.NewInt(n)).Int64() != 1 ||
		6*last < size || 6*(size-last) < size {
		t.Fatalf("ChooseK(%d, %d) = %d", n, size, k)
	}
	if n < 100_000 {
		return
	}
	for q := 1.0; q <= 20; q++ {
		// The golden section is more than 1/(√5+1/2)q² from each p/q; some of
		// that goes with the way to a k that will do.
		x := float64(k) / float64(n) * q
		if off := math.Abs(x-math.Round(x)) * q; off < 0.3 {
			t.Fatalf("ChooseK(%d, %d) = %d, which is near %.0f/%.0f: %.3f", n, size, k, math.Round(x), q, off)
		}
	}
}

func TestModular(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	random := func() int64 { return r.Int64() >> r.IntN(63) }
	for range 100_000 {
		a, b, n := random(), random(), random()+1
		if n < 1 {
			continue
		}
		big1, big2, bigN := big.NewInt(a), big.NewInt(b), big.NewInt(n)
		if want := new(big.Int).GCD(nil, nil, big1, big2).Int64(); keysource.GCD(a, b) != want {
			t.Fatalf("gcd(%d, %d) = %d, want %d", a, b, keysource.GCD(a, b), want)
		}
		product := new(big.Int).Mul(big1, big2)
		if want := product.Mod(product, bigN).Int64(); keysource.MulMod(a, b, n) != want {
			t.Fatalf("%d·%d mod %d = %d, want %d", a, b, n, keysource.MulMod(a, b, n), want)
		}
		if n < 2 || keysource.GCD(a%n, n) != 1 {
			continue
		}
		if want := new(big.Int).ModInverse(big1, bigN).Int64(); keysource.Inverse(a%n, n) != want {
			t.Fatalf("inverse(%d, %d) = %d, want %d", a%n, n, keysource.Inverse(a%n, n), want)
		}
	}
}
