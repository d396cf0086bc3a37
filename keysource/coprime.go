package keysource

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"math"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Coprime is a [Mapping] to short texts, by the article on short keys by group theory:
// all texts of a fixed length over an alphabet become keys, in steps of k. If n is the
// number of these texts and k has no divisor in common with n, the numbers
//
//	(start + c·k) mod n,  c = 1 … n
//
// are all different, and so are their texts. Six characters of an alphabet of 62 make
// 56.8 thousand million keys. Two keys reveal k: the keys are spread, but can be
// guessed.
//
// With [CoprimeOptions].Grow, numbers greater than n get texts of one more character,
// which differ from all shorter texts, in steps of the k that [ChooseK] returns for
// that length.
//
// If the alphabet has letters of both cases, see [Coprime.CaseMatters], two keys can be
// equal in a column that ignores case: with the alphabet and the k of the article, the
// keys of the numbers 200 and 42,045,358 are.
type Coprime struct {
	alphabet alphabet
	cycles   []cycle // one for Length, and one for Length+1 if those texts fit an int64 too
	grow     bool
	residues bool
}

// cycle is all texts of one length, in the order in which they become keys.
type cycle struct {
	length   int
	n, k     int64
	inverse  int64 // k·inverse mod n = 1
	start    int64
	previous int64 // how many numbers come before the first number of this cycle
}

// CoprimeOptions selects the keys that a [Coprime] makes. Only Grow may change later.
type CoprimeOptions struct {
	// Length is how many characters a key has.
	Length int

	// Alphabet holds the characters of a key, such as [AlphabetBase62]: letters from A
	// to Z and a to z, digits, - and _, each at most once. Empty means
	// [AlphabetBase32].
	Alphabet string

	// K is the step between keys. A K greater than n is reduced modulo n. Zero means
	// the step that [ChooseK] returns for n.
	K int64

	// Start is the number, below n, to which the first step is added. For a table that
	// stores the last key, it is the number that the table held before the first key.
	Start int64

	// Grow makes texts of Length+1 characters when all texts of Length characters are used.
	// It need not be set earlier: the shorter keys do not depend on it.
	Grow bool

	// Residues is for a state table of the article's program, which stores the last key
	// as a number below n; see [Coprime.Residue]. The last number is then not used, and
	// Grow is not allowed, because such a table looks the same when all keys are used
	// and when none is.
	Residues bool
}

// NewCoprime returns the mapping. Its error wraps [ErrOptions] for a length or an
// alphabet that makes no keys or more than 2⁶³−1, for a K that has a divisor in common
// with n, for a Start that is not below n, and for Grow with Residues.
func NewCoprime(o CoprimeOptions) (*Coprime, error) {
	a, err := newAlphabet(cmp.Or(o.Alphabet, AlphabetBase32))
	if err != nil {
		return nil, err
	}
	n, ok := power(a.size(), o.Length)
	switch {
	case o.Length < 1:
		return nil, anchor.Endf("%w: coprime: a length of %d characters is less than 1", ErrOptions, o.Length)
	case !ok:
		return nil, anchor.Endf("%w: coprime: %d characters of %d are more than 2^63-1 keys; take fewer",
			ErrOptions, o.Length, a.size())
	case o.K < 0:
		return nil, anchor.Endf("%w: coprime: k is less than 1", ErrOptions)
	case o.K > 0 && gcd(o.K, n) != 1:
		return nil, anchor.Endf("%w: coprime: k and n, %d, have the divisor %d in common, so that keys would come twice; take another k, or none",
			ErrOptions, n, gcd(o.K, n))
	case o.Start < 0 || o.Start >= n:
		return nil, anchor.Endf("%w: coprime: the start is not from 0 to %d", ErrOptions, n-1)
	case o.Grow && o.Residues:
		return nil, anchor.Endf("%w: coprime: a table that stores the last key cannot grow to longer ones; leave Grow out", ErrOptions)
	}
	k := o.K % n
	if o.K == 0 {
		k = ChooseK(n, a.size())
	}
	c := &Coprime{alphabet: a, grow: o.Grow, residues: o.Residues}
	c.cycles = append(c.cycles, newCycle(o.Length, n, k, o.Start, 0))
	longer, ok := power(a.size(), o.Length+1)
	switch {
	case ok && longer <= math.MaxInt64-n:
		c.cycles = append(c.cycles, newCycle(o.Length+1, longer, ChooseK(longer, a.size()), o.Start, n))
	case o.Grow:
		return nil, anchor.Endf("%w: coprime: grow: %d characters of %d are more than 2^63-1 keys; take fewer",
			ErrOptions, o.Length+1, a.size())
	}
	return c, nil
}

func newCycle(length int, n, k, start, previous int64) cycle {
	return cycle{length: length, n: n, k: k, inverse: inverse(k, n), start: start, previous: previous}
}

// residue returns (start + c·k) mod n for c ≥ 0.
func (y *cycle) residue(c int64) int64 {
	if c >= y.n {
		c %= y.n
	}
	return addMod(y.start, mulMod(c, y.k, y.n), y.n)
}

// steps is the inverse of residue: it returns the c, from 0 to n−1, whose residue is
// given.
func (y *cycle) steps(residue int64) int64 {
	return mulMod(addMod(residue, y.n-y.start, y.n), y.inverse, y.n)
}

// Key returns the text of a number from 1 to Last; see [Mapping]. It is the same in
// every layout.
func (c *Coprime) Key(number int64, _ dialect.Layout) driver.Value {
	checkNumber(c, number)
	return c.text(number)
}

// text returns the key of a number without checking the number.
func (c *Coprime) text(number int64) string {
	y := &c.cycles[0]
	if number > y.n && len(c.cycles) > 1 {
		y = &c.cycles[1]
	}
	return c.alphabet.text(y.residue(number-y.previous), y.length)
}

// Last returns how many keys there are: n, plus the keys of Length+1 characters with
// Grow; n−1 with Residues.
func (c *Coprime) Last() int64 {
	switch {
	case c.residues:
		return c.cycles[0].n - 1
	case c.grow:
		return c.cycles[0].n + c.cycles[1].n
	}
	return c.cycles[0].n
}

// Width returns how many characters the longest key has, which the column has to hold.
func (c *Coprime) Width() int {
	if c.grow {
		return c.cycles[1].length
	}
	return c.cycles[0].length
}

// endRemedy returns the advice that [EndRemedy] gives for a Coprime.
func (c *Coprime) endRemedy() string {
	if !c.grow && !c.residues && len(c.cycles) > 1 {
		return fmt.Sprintf("grow: true, where the column holds %d characters", c.cycles[1].length)
	}
	if _, ok := power(c.alphabet.size(), c.Width()+1); !ok {
		return "another table"
	}
	return fmt.Sprintf("a source of length %d with another name, where the column holds as many characters", c.Width()+1)
}

// CaseMatters reports whether two keys can differ in case alone, so that the column
// needs a case-sensitive collation.
func (c *Coprime) CaseMatters() bool { return c.alphabet.hasCases() }

// Parameters returns the alphabet and, for each length, n, k and start as text.
// Length+1 is always in it, so that setting Grow later does not change the text.
func (c *Coprime) Parameters() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coprime: alphabet %s", c.alphabet.characters)
	for _, y := range c.cycles {
		fmt.Fprintf(&b, "; length %d, n %d, k %d, start %d", y.length, y.n, y.k, y.start)
	}
	return b.String()
}

// Number returns the number whose key is text. Its error wraps [ErrOtherKey] if text is
// no key of this mapping.
func (c *Coprime) Number(text string) (int64, error) {
	for _, y := range c.cycles {
		if len(text) != y.length {
			continue
		}
		residue, ok := c.alphabet.parse(text)
		if !ok {
			break
		}
		steps := y.steps(residue)
		if steps == 0 {
			steps = y.n
		}
		if steps > c.Last()-y.previous {
			break
		}
		return y.previous + steps, nil
	}
	return 0, anchor.Endf("%w: it is not %d characters of its alphabet", ErrOtherKey, c.cycles[0].length)
}

// Residue returns the value that a table of the article's program holds when next, from
// 1 to n, is the next number: the last key as a number from 0 to n−1. It is for a
// mapping with Residues. Residues repeat: a greater next can have the residue of a
// lower one.
func (c *Coprime) Residue(next int64) int64 {
	y := &c.cycles[0]
	return y.residue(max(next-1, 0))
}

// NextOf is the inverse of Residue. It returns 0 for a residue that is not from 0 to
// n−1, which was stored with another length or alphabet.
func (c *Coprime) NextOf(residue int64) int64 {
	y := &c.cycles[0]
	if residue < 0 || residue >= y.n {
		return 0
	}
	return y.steps(residue) + 1
}
