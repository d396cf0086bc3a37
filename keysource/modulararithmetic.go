package keysource

import (
	"math"
	"math/bits"
)

// goldenRatio is the fractional part of the golden ratio, times 2⁶⁴.
const goldenRatio = 0x9e3779b97f4a7c15

// ChooseK returns the step with which [Coprime] goes through n texts, where n is a
// power of size, the number of characters in the alphabet (at least 2). It is the k
// closest to 0.618… n, the golden section, that has no divisor in common with n and
// that moves the last character by at least a sixth of the alphabet in either
// direction; of two such k, the greater. Multiples of the golden section stay far from
// whole numbers, so that keys which follow each other closely are far apart. The result
// must never change, since the k of a table must not.
func ChooseK(n, size int64) int64 {
	middle, _ := bits.Mul64(uint64(n), goldenRatio)
	for d := int64(0); d < n; d++ {
		for _, k := range [...]int64{int64(middle) + d, int64(middle) - d} {
			last := k % size
			if 0 < k && k < n && gcd(k, n) == 1 && size <= 6*last && 6*last <= 5*size {
				return k
			}
		}
	}
	return 1
}

// gcd returns the greatest common divisor of two integers that are not negative,
// by Euclid's algorithm.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mulMod returns a·b mod n for 0 ≤ a, b and n > 0, whatever the size of the
// product.
func mulMod(a, b, n int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(bits.Rem64(hi, lo, uint64(n)))
}

// addMod returns a+b mod n for a from 0 to n−1 and b from 0 to n.
func addMod(a, b, n int64) int64 {
	if a < n-b {
		return a + b
	}
	return a - (n - b)
}

// inverse returns the x from 0 to n−1 with a·x mod n = 1, by the extended
// algorithm of Euclid; a and n have no divisor in common, and 0 ≤ a < n.
func inverse(a, n int64) int64 {
	// Invariant: r = s·a mod n. |s| is less than n until r is the common divisor, 1.
	r, next := n, a
	s, factor := int64(0), int64(1)
	for next != 0 {
		q := r / next
		r, next = next, r-q*next
		s, factor = factor, s-q*factor
	}
	if s < 0 {
		s += n
	}
	return s
}

// power returns base to the power of length, or false if that does not fit an int64.
// base is at least 1.
func power(base int64, length int) (int64, bool) {
	n := int64(1)
	for range length {
		if n > math.MaxInt64/base {
			return 0, false
		}
		n *= base
	}
	return n, true
}
