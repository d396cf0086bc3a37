package keysource

import "slices"

// Seams for the tests of mappings: small ones, which can be gone through, and
// what a mapping must not be.

// NewPseudorandomOf returns the mapping of a prime modulus.
func NewPseudorandomOf(multiplier, modulus int64) *Pseudorandom {
	return newPseudorandom(multiplier, modulus)
}

// NewScatterOf returns the mapping of any number of bits.
func NewScatterOf(bits int, key string) *Scatter { return newScatter(bits, key) }

// Permute is the network alone.
func (s *Scatter) Permute(x uint64) uint64 { return s.permute(x) }

// PermuteBadly is a network whose third round cannot be undone: it does not add
// to the left part but replaces it.
func (s *Scatter) PermuteBadly(x uint64) uint64 {
	left, right := x>>s.rightBits, x&(1<<s.rightBits-1)
	for i := 0; i < scatterRounds; i += 2 {
		if i == 2 {
			left = 0
		}
		left ^= mix64(right^s.keys[i]) >> (64 - s.leftBits)
		right ^= mix64(left^s.keys[i+1]) >> (64 - s.rightBits)
	}
	return left<<s.rightBits | right
}

// Step returns k for keys of a length.
func (c *Coprime) Step(length int) int64 {
	i := slices.IndexFunc(c.cycles, func(y cycle) bool { return y.length == length })
	return c.cycles[i].k
}

// WithStep returns a copy with another k, whatever divisors it has.
func (c *Coprime) WithStep(k int64) *Coprime {
	copied := *c
	copied.cycles = slices.Clone(c.cycles)
	copied.cycles[0].k = k
	return &copied
}

// Text is Key of any number, those that there are not too.
func (c *Coprime) Text(number int64) string { return c.text(number) }

// TextLate is Text, but it goes on with longer texts one number too late.
func (c *Coprime) TextLate(number int64) string {
	if number == c.cycles[0].n+1 {
		return c.alphabet.text(c.cycles[0].residue(number), c.cycles[0].length)
	}
	return c.text(number)
}

func GCD(a, b int64) int64 { return gcd(a, b) }

func MulMod(a, b, n int64) int64 { return mulMod(a, b, n) }

func Inverse(a, n int64) int64 { return inverse(a, n) }
