package keysource

import (
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
)

// The constants of the "minimal standard" generator of Stephen K. Park and Keith W.
// Miller, "Random Number Generators: Good Ones Are Hard to Find", Communications of the
// ACM 31 (1988), pages 1192 to 1201.
const (
	parkMillerMultiplier = 16807         // 7⁵, a primitive root of the modulus
	parkMillerModulus    = 2_147_483_647 // 2³¹−1, a prime
)

// Pseudorandom is the [Mapping] of the article "Four Approaches to Surrogate Key
// Generation": a number from 1 to 2³¹−2 is the seed of one step of the minimal
// standard generator of Park and Miller,
//
//	key = 16807 · seed mod 2147483647
//
// so that each seed gives one key from 1 to 2³¹−2 and no two the same: the
// modulus is a prime. A key fits 31 bits.
//
// The article writes 2147483547 where it adds the modulus, a misprint. With it
// 23,842,147 seeds get a key that is too low by 100, and 11,796,720 of those keys
// also belong to other seeds. All seeds were run through once.
//
// The keys of consecutive seeds are 16,807 apart, modulo the modulus: that spreads them
// over the index, and hides nothing. [Scatter] spreads keys more evenly, and over 31,
// 53 or 63 bits.
type Pseudorandom struct{ multiplier, inverse, modulus int64 }

// NewPseudorandom returns the mapping, which has no options.
func NewPseudorandom() *Pseudorandom {
	return newPseudorandom(parkMillerMultiplier, parkMillerModulus)
}

// newPseudorandom returns the mapping of a prime modulus below 2³² and of a multiplier
// below the modulus.
func newPseudorandom(multiplier, modulus int64) *Pseudorandom {
	return &Pseudorandom{multiplier, inverse(multiplier, modulus), modulus}
}

// Key returns the key of a number from 1 to Last, see [Mapping].
func (p *Pseudorandom) Key(number int64, l dialect.Layout) driver.Value {
	checkNumber(p, number)
	return boxing.Integer(mulMod(p.multiplier, number, p.modulus), l)
}

// Last returns 2³¹−2, the greatest number that has a key.
func (p *Pseudorandom) Last() int64 { return p.modulus - 1 }

// Parameters returns the multiplier and the modulus as text.
func (p *Pseudorandom) Parameters() string {
	return fmt.Sprintf("pseudorandom: multiplier %d, modulus %d", p.multiplier, p.modulus)
}

// Number returns the number whose key is key. Its error wraps [ErrOtherKey] for an
// integer that is not from 1 to Last.
func (p *Pseudorandom) Number(key int64) (int64, error) {
	if key < 1 || key > p.Last() {
		return 0, anchor.Endf("%w: it is not from 1 to %d", ErrOtherKey, p.Last())
	}
	return mulMod(p.inverse, key, p.modulus), nil
}
