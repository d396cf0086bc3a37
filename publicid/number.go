package publicid

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Number hides an integer, such as the key of a sequence or of a snowflake: it turns the
// integer into a text of 12 characters, and back. A Number is immutable and safe for
// concurrent use.
//
//	1  ->  HfUcQvhBS3zZ
//	2  ->  R9fx6AXWLHay
//
// The characters are the digits of base 58, in this order:
//
//	123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz
//
// They are letters of both cases and digits without 0, I, O and l, which look like others.
// A column or a comparison that ignores case takes different texts for equal.
//
// # What it hides, and what it does not
//
// Without the secret, a text does not show its integer: not how many rows there are, not
// which of two rows is older, and not the text of the next integer. A program that has the
// secret can restore every integer. The last character finds mistakes: each text with one
// wrong character is an error, and so are all but one in a thousand with two neighbours
// exchanged. One of some 160 made-up texts is the text of an integer, so that a text is no proof
// that a program has made it. It is no access control: a program still has to check that
// the caller may read the row.
//
// # How
//
// An integer of 64 bits, of which the highest one is 0, is a left half L and a right half
// R of 32 bits each. They take the rounds of [Mask], with the low 32 bits of SipHash, and
// with the keys of
//
//	HKDF-SHA256(secret, no salt, "keyfill publicid number 1:" + purpose, 128 bytes)
//
// The result, of 64 bits, is written with 11 digits of base 58, the highest one first. The
// last character is the check character of the hybrid system MOD 59,58 of ISO 7064, for
// digits d from 0 to 57:
//
//	P = 58;  for each digit:  S = (P + d) mod 58, or 58 if that is 0;  P = 2·S mod 59
//	check = (1 - P) mod 58
//
// It is fixed for ever: the same secret and purpose make the same texts in every release.
// docs/vectors.json has examples.
type Number struct{ networks []network }

const (
	numberHalf = 32

	// NumberSize is how many characters the text of a [Number] has.
	NumberSize = 12

	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base   = uint64(len(base58))
)

// NewNumber returns the Number of a secret for one purpose, such as the name of a table:
// the text of order 7 then shows nothing of the text of customer 7, and is no text of a
// customer. The purpose, the secrets and the error are as for [NewMask].
func NewNumber(purpose string, current []byte, older ...[]byte) (*Number, error) {
	networks, err := newNetworks("number", numberHalf, purpose, current, older)
	if err != nil {
		return nil, err
	}
	return &Number{networks}, nil
}

// Hide returns the text of an integer from 0 to 2⁶³−1 under the current secret: always
// [NumberSize] characters. The error is [ErrNegative] for any other integer.
func (n *Number) Hide(number int64) (string, error) {
	if number < 0 {
		return "", ErrNegative
	}
	left, right := n.networks[0].permute(uint64(number)>>numberHalf, uint64(number)&(1<<numberHalf-1))
	rest := left<<numberHalf | right
	var text [NumberSize]byte
	for i := NumberSize - 2; i >= 0; i-- {
		text[i] = base58[rest%base]
		rest /= base
	}
	text[NumberSize-1] = base58[checkDigit(text[:NumberSize-1])]
	return string(text[:]), nil
}

// Reveal returns the integer whose text under the current secret is text. Its error wraps
// [ErrText] if there is no such integer.
func (n *Number) Reveal(text string) (int64, error) {
	hidden, err := parseNumber(text)
	if err != nil {
		return 0, err
	}
	number := restoreNumber(&n.networks[0], hidden)
	if number < 0 {
		return 0, errOtherSecret
	}
	return number, nil
}

// Candidates returns the integers whose text is text: the one under the current secret, if
// there is one, and then those under the older secrets, in their order. The caller looks
// each of them up, until a row is found. The error wraps [ErrText] if there is no such
// integer.
func (n *Number) Candidates(text string) ([]int64, error) {
	hidden, err := parseNumber(text)
	if err != nil {
		return nil, err
	}
	all := make([]int64, 0, len(n.networks))
	for i := range n.networks {
		if number := restoreNumber(&n.networks[i], hidden); number >= 0 {
			all = append(all, number)
		}
	}
	if len(all) == 0 {
		return nil, errOtherSecret
	}
	return all, nil
}

// Format writes the name of the type for each verb (fmt.Formatter), so that no log shows what
// was made of the secrets.
func (n Number) Format(f fmt.State, _ rune) { fmt.Fprint(f, "publicid.Number") }

// restoreNumber restores an integer with one network. It is negative if no integer has this
// text.
func restoreNumber(n *network, hidden uint64) int64 {
	left, right := n.restore(hidden>>numberHalf, hidden&(1<<numberHalf-1))
	return int64(left<<numberHalf | right)
}

// parseNumber returns the 64 bits that a text holds.
func parseNumber(text string) (hidden uint64, err error) {
	if len(text) != NumberSize {
		return 0, anchor.Endf("%w: it needs %d characters", ErrText, NumberSize)
	}
	for i := range NumberSize {
		digit := base58Values[text[i]]
		if digit < 0 {
			return 0, anchor.Endf("%w: character %d: write letters and digits without 0, I, O and l", ErrText, i+1)
		}
		if i == NumberSize-1 {
			break // the check character
		}
		high, low := bits.Mul64(hidden, base)
		sum, carry := bits.Add64(low, uint64(digit), 0)
		if high != 0 || carry != 0 {
			return 0, errCheck
		}
		hidden = sum
	}
	if int(base58Values[text[NumberSize-1]]) != checkDigit([]byte(text[:NumberSize-1])) {
		return 0, errCheck
	}
	return hidden, nil
}

// checkDigit returns the value of the check character after some characters of base 58.
func checkDigit(text []byte) int {
	p := 58
	for _, c := range text {
		s := p + int(base58Values[c])
		if s > 58 {
			s -= 58 // s mod 58, or 58 if that is 0
		}
		p = 2 * s
		if p > 59 {
			p -= 59 // never 59, which is odd
		}
	}
	return (59 - p) % 58
}

// base58Values has the value of each character of base 58, and -1 for all others.
var base58Values = func() (v [256]int8) {
	for i := range v {
		v[i] = int8(strings.IndexByte(base58, byte(i)))
	}
	return v
}()
