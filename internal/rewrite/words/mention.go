package words

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// renameWords are the words of statements that give a table the name of another table.
var renameWords = []string{"rename", "sp_rename", "exchange"}

// Mentions reports whether the text holds a word, given in lower case, as a whole word.
func Mentions(text, word string) bool {
	part := func(i int) bool {
		return i >= 0 && i < len(text) && text[i] < 0x80 && scan.Classes[text[i]]&(scan.ClassLetter|scan.ClassDigit) != 0
	}
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i]|0x20 == word[0] && scan.EqualWord(text[i:i+len(word)], word) && !part(i-1) && !part(i+len(word)) {
			return true
		}
	}
	return false
}

// nameMakers are the first words of the statements that make, rename and drop tables.
var nameMakers = []string{"create", "alter", "drop"}

// MentionsAny reports whether the text holds one of the words as a whole word.
func MentionsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return Mentions(text, word) })
}
