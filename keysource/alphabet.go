package keysource

import (
	"math/bits"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

const (
	// AlphabetBase62 is the alphabet of the article on coprime stepping. Two of
	// its keys can differ in case alone, so the column has to compare by case.
	AlphabetBase62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

	// AlphabetBase32 is right under every collation and can be read aloud: lower
	// case, without i, l, o and u, as Crockford's Base32 leaves them out.
	AlphabetBase32 = "0123456789abcdefghjkmnpqrstvwxyz"
)

// alphabet writes numbers as text of a fixed length, the most significant
// character first, with its first character for zero.
type alphabet struct {
	characters string
	value      [128]int8 // of each character; -1: it has none
	reciprocal uint64    // 2⁶⁴ divided by their number, rounded down
}

// newAlphabet returns the alphabet of the characters. It returns [ErrOptions].
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

// isKeyCharacter reports whether a key may hold c: what needs neither quotes nor
// escapes in a literal of any engine, see dialect.AppendLiteral.
func isKeyCharacter(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_'
}

func (a *alphabet) size() int64 { return int64(len(a.characters)) }

// text writes a number from 0 to size to the power of length, less one.
func (a *alphabet) text(n int64, length int) string {
	var room [maxTextLength]byte // an int64 has no more digits in any base
	b := room[:length]
	size, rest := uint64(len(a.characters)), uint64(n)
	for i := length - 1; i >= 0; i-- {
		// A multiplication takes a fraction of the time of a division. The
		// reciprocal is less than 1 below 2⁶⁴/size, so the quotient is exact or 1
		// too low.
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

// maxTextLength is the length of the longest text: size to the power of length
// fits an int64.
const maxTextLength = 62

// parse is the inverse of text. It reports false for a text with any other
// character. The number must fit an int64 for the text's length.
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

// hasCases reports whether two texts can differ in case alone.
func (a *alphabet) hasCases() bool {
	return strings.ContainsFunc(a.characters, func(r rune) bool {
		return 'a' <= r && r <= 'z' && strings.ContainsRune(a.characters, r-'a'+'A')
	})
}
