package scan

import (
	"strings"
)

// WordSet is a set of words in lower case.
type WordSet struct {
	words map[string]struct{}
	// lengths has a bit for each length of a word, by the word's first letter.
	lengths [32]uint32
}

// NewWordSet returns the set of the words in a text, which are separated by white space. It
// panics if a word is longer than maxBuiltin.
func NewWordSet(words string) *WordSet {
	s := &WordSet{words: map[string]struct{}{}}
	for _, w := range strings.Fields(words) {
		if len(w) > maxBuiltin {
			panic("rewrite: a word is too long to be found in a set: " + w)
		}
		s.words[w] = struct{}{}
		s.lengths[w[0]&0x1f] |= 1 << len(w)
	}
	return s
}

// MayHave reports whether the set has any word with the first letter and the length of the
// given word, which is not empty. For most words it is false, which saves the lookup.
func (s *WordSet) MayHave(word string) bool {
	return s.lengths[word[0]&0x1f]>>len(word)&1 != 0
}

// Has reports whether the set has the word, in upper or lower case.
func (s *WordSet) Has(word string) bool {
	var lower [maxBuiltin]byte
	if len(word) > len(lower) || !s.MayHave(word) {
		return false
	}
	for i := range len(word) {
		lower[i] = word[i]
		if 'A' <= word[i] && word[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	_, ok := s.words[string(lower[:len(word)])]
	return ok
}

// maxBuiltin is the greatest length in bytes of a word in a [WordSet].
const maxBuiltin = 25

// EqualWord reports whether text is the keyword word, in upper or lower case. The caller
// gives word in lower case.
func EqualWord(text, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// EqualAny reports whether text is one of the words, in upper or lower case. The caller
// gives the words in lower case.
func EqualAny(text string, words ...string) bool {
	for _, w := range words {
		if EqualWord(text, w) {
			return true
		}
	}
	return false
}
