package keysource

import (
	"math/bits"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

const (
	// AlphabetBase62 has the digits and the letters of both cases, as in the article on
	// short keys that [Coprime] follows. Two of its keys can differ in case alone, so the
	// column needs a case-sensitive collation.
	AlphabetBase62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

	// AlphabetBase32 has the digits and the lower-case letters without i, l, o and u, like
	// Crockford's Base32. Its keys stay different under every collation and can be read
	// aloud.
	AlphabetBase32 = "0123456789abcdefghjkmnpqrstvwxyz"
)

// alphabet writes numbers as text of a fixed length, in base len(characters): the most
// significant digit first, padded with the first character, which stands for zero.
type alphabet struct {
	characters string
	value      [128]int8 // the digit that each character stands for; -1 if it is not in the alphabet
	reciprocal uint64    // 2⁶⁴ / len(characters), rounded down
}

// newAlphabet returns the alphabet of the characters. Its error wraps [ErrOptions].
func newAlphabet(characters string) (alphabet, error) {
	a := alphabet{characters: characters}
	for i := range a.value {
		a.value[i] = -1
	}
	if len(characters) < 2 {
		return a, anchor.Endf("%w: alphabet: it needs at least two characters", ErrOptions)
	}
	for i := range len(characters) {
		switch c := characters[i]; {
		case !isKeyCharacter(c):
			return a, anchor.Endf("%w: alphabet: character %d is not a letter from A to Z or a to z, a digit, - or _",
				ErrOptions, i+1)
		case a.value[c] >= 0:
			return a, anchor.Endf("%w: alphabet: character %d, %q, is there twice; leave one out", ErrOptions, i+1, c)
		default:
			a.value[c] = int8(i)
		}
	}
	a.reciprocal, _ = bits.Div64(1, 0, uint64(len(characters)))
	return a, nil
}

// isKeyCharacter reports whether a key may hold c: no engine has to escape it in a text
// literal, see dialect.AppendLiteral.
func isKeyCharacter(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_'
}

func (a *alphabet) size() int64 { return int64(len(a.characters)) }

// text writes n, from 0 to size^length − 1, with length characters.
func (a *alphabet) text(n int64, length int) string {
	var room [maxTextLength]byte // enough for an int64 in any base
	b := room[:length]
	size, rest := uint64(len(a.characters)), uint64(n)
	for i := length - 1; i >= 0; i-- {
		// Multiplying by the reciprocal takes a fraction of the time of a division. The
		// reciprocal is less than 1 below 2⁶⁴/size, so the quotient is exact or 1 too
		// low.
		quotient, _ := bits.Mul64(rest, a.reciprocal)
		digit := rest - quotient*size
		if digit >= size {
			digit -= size
			quotient++
		}
		b[i] = a.characters[digit]
		rest = quotient
	}
	return string(b)
}

// maxTextLength is the greatest length of a text: in base 2, the least, 62 digits are
// the most whose number of texts fits an int64.
const maxTextLength = 62

// parse returns the number that a text written by the method text stands for. It
// returns false if a character is not in the alphabet. The number must fit an int64.
func (a *alphabet) parse(text string) (n int64, ok bool) {
	for i := range len(text) {
		c := text[i]
		if int(c) >= len(a.value) || a.value[c] < 0 {
			return 0, false
		}
		n = n*a.size() + int64(a.value[c])
	}
	return n, true
}

// hasCases reports whether two texts of this alphabet can differ in case alone.
func (a *alphabet) hasCases() bool {
	return strings.ContainsFunc(a.characters, func(r rune) bool {
		return 'a' <= r && r <= 'z' && strings.ContainsRune(a.characters, r-'a'+'A')
	})
}
