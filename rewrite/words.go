package rewrite

import (
	"math/bits"

	"github.com/keyfill/keyfill/dialect"
)

// verbs are the words that a form of INSERT begins with; a set of them is a
// number with bit i for verbs[i].
var verbs = [...]string{"insert", "replace", "merge", "copy", "load", "output"}

// stride is how far apart two looks into a text may be: one of them falls on
// the first four letters of every verb, and sees two of these.
const stride = 3

// pairs holds for two neighbouring bytes, of each the lower five bits, the
// verbs that have the two among their first four letters.
var pairs = func() (t [1 << 10]uint8) {
	for i, verb := range verbs {
		for j := range stride {
			t[pair(verb[j], verb[j+1])] |= 1 << i
		}
	}
	return t
}()

// pair is the same for both cases of a letter.
func pair(a, b byte) int { return int(a&0x1f)<<5 | int(b&0x1f) }

// Concerns reports whether the query has a word that can begin a form of
// INSERT in the dialect. A query without any is passed without a scan; one
// with a word, be it in a string, is left to [Compile]. It allocates nothing.
func Concerns(d *dialect.Dialect, query string) bool {
	set := verbSet(&d.Grammar)
	for i := stride - 1; i+1 < len(query); i += stride {
		found := pairs[pair(query[i], query[i+1])] & set
		for j := 0; found != 0 && j < stride; j++ {
			if verbAt(found, query, i-j) {
				return true
			}
		}
	}
	return false
}

// verbSet returns the verbs of a dialect.
func verbSet(g *dialect.Grammar) uint8 {
	set := uint8(1)
	for i, has := range [...]bool{g.Replace, g.Merge, g.Copy, g.Load, g.Output} {
		if has {
			set |= 2 << i
		}
	}
	return set
}

// verbAt reports whether a verb of the set begins at offset i, where a word may
// begin. What is not ASCII may stand in front of it: U+00A0 is white space to
// SQL Server.
func verbAt(set uint8, query string, i int) bool {
	if i > 0 {
		if c := query[i-1]; c < 0x80 && classes[c]&classLetter != 0 && !numberBefore(query, i) {
			return false
		}
	}
	for ; set != 0; set &= set - 1 {
		verb := verbs[bits.TrailingZeros8(set)]
		if i+len(verb) <= len(query) && equalWord(query[i:i+len(verb)], verb) {
			return true
		}
	}
	return false
}

// numberBefore reports whether a number may end at offset i, so that a word
// begins there: SELECT 0xABINSERT is two statements in SQL Server.
func numberBefore(query string, i int) bool {
	j := i
	for j > 0 && (classes[query[j-1]]&classHex != 0 || query[j-1]|0x20 == 'x' || query[j-1] == '_') {
		j--
	}
	return j < i && isDigit(query[j])
}
