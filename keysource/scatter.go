package keysource

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
)

// Scatter is a [Mapping] onto all integers from 1 to 2^bits−1, in an order that looks
// random and that depends on a key. It is for engines that keep each range of primary
// keys on one node, where ascending ones would all go to the same node. With the key,
// the number of each primary key can be computed again.
//
// It is fixed for ever: the same bits and the same key make the same keys in
// every release.
//
// It spreads, and it is no secret: cryptographers have not examined this mixing, and an
// observer of many keys may find a way to predict the next ones.
//
// # How
//
// A number is cut into a left part of ⌊bits/2⌋ bits and a right part of the
// rest. Eight rounds, each of which can be undone whatever its function is,
// change one part by the other, in turn (an unbalanced Feistel network):
//
//	round 0, 2, 4, 6:  left  = left  xor the high bits of mix(right xor key[i])
//	round 1, 3, 5, 7:  right = right xor the high bits of mix(left  xor key[i])
//
// where mix is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014), and the eight keys
// of 64 bits are two SHA-256 of the bits and the key. That permutes 0 to
// 2^bits−1. The number that would come out as 0 goes through it once more, as 0,
// so that the numbers from 1 to 2^bits−1 are permuted among themselves.
type Scatter struct {
	bits      int
	leftBits  int // how many bits the left part has
	rightBits int
	keys      [scatterRounds]uint64
	mark      string // a hash that distinguishes keys without revealing them
}

const scatterRounds = 8

// scatterBits are the widths that max_bits of the policy file allows.
var scatterBits = []int{31, 53, 63}

// NewScatter returns the mapping of a key, any text that is not empty, onto integers of
// 31, 53 or 63 bits. Its error wraps [ErrOptions].
func NewScatter(bits int, key string) (*Scatter, error) {
	switch {
	case !slices.Contains(scatterBits, bits):
		return nil, anchor.Endf("%w: scatter: %d bits; there are 31, 53 and 63", ErrOptions, bits)
	case key == "":
		return nil, anchor.Endf("%w: scatter: the key is empty: give it any text, and never change it", ErrOptions)
	}
	return newScatter(bits, key), nil
}

// newScatter is NewScatter for any number of bits from 2 to 63.
func newScatter(bits int, key string) *Scatter {
	s := &Scatter{bits: bits, leftBits: bits / 2, rightBits: bits - bits/2}
	for i := 0; i < scatterRounds; i += 4 {
		sum := scatterHash(bits, fmt.Sprintf("rounds from %d", i), key)
		for j := range 4 {
			s.keys[i+j] = binary.BigEndian.Uint64(sum[8*j:])
		}
	}
	sum := scatterHash(bits, "mark", key)
	s.mark = hex.EncodeToString(sum[:16])
	return s
}

// scatterHash hashes a key for one purpose. Since each purpose has a different hash,
// the mark in Parameters reveals nothing about the rounds.
func scatterHash(bits int, purpose, key string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "keyfill scatter, %d bits, %s: %s", bits, purpose, key))
}

// Key returns the key of a number from 1 to Last, see [Mapping].
func (s *Scatter) Key(number int64, l dialect.Layout) driver.Value {
	checkNumber(s, number)
	return boxing.Integer(s.walk(number, s.permute), l)
}

// Last returns 2^bits−1, the greatest number that has a key.
func (s *Scatter) Last() int64 { return 1<<(s.bits-1) - 1 + 1<<(s.bits-1) }

// Parameters returns the bits and a hash of the key as text.
func (s *Scatter) Parameters() string {
	return fmt.Sprintf("scatter: version 1, bits %d, key %s", s.bits, s.mark)
}

// Number returns the number whose key is key. Its error wraps [ErrOtherKey] for an
// integer that is not from 1 to Last; every other integer is the key of some number.
func (s *Scatter) Number(key int64) (int64, error) {
	if key < 1 || key > s.Last() {
		return 0, anchor.Endf("%w: it is not from 1 to %d", ErrOtherKey, s.Last())
	}
	return s.walk(key, s.restore), nil
}

// walk applies a permutation of 0 to Last until the result is not 0. So it permutes the
// numbers from 1 to Last.
func (s *Scatter) walk(x int64, permute func(uint64) uint64) int64 {
	for {
		if x = int64(permute(uint64(x))); x != 0 {
			return x
		}
	}
}

// permute applies the rounds of the Feistel network to x.
func (s *Scatter) permute(x uint64) uint64 {
	left, right := x>>s.rightBits, x&(1<<s.rightBits-1)
	for i := 0; i < scatterRounds; i += 2 {
		left ^= mix64(right^s.keys[i]) >> (64 - s.leftBits)
		right ^= mix64(left^s.keys[i+1]) >> (64 - s.rightBits)
	}
	return left<<s.rightBits | right
}

// restore is the inverse of permute.
func (s *Scatter) restore(x uint64) uint64 {
	left, right := x>>s.rightBits, x&(1<<s.rightBits-1)
	for i := scatterRounds - 2; i >= 0; i -= 2 {
		right ^= mix64(left^s.keys[i+1]) >> (64 - s.rightBits)
		left ^= mix64(right^s.keys[i]) >> (64 - s.leftBits)
	}
	return left<<s.rightBits | right
}

// mix64 is the finalizer of SplitMix64.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
