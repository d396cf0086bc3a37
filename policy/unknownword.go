package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/nearest"
)

// unknownWord returns the message for a word that is not in words: it proposes the most
// similar word, or lists all of them.
func unknownWord(what, got string, words []string) string {
	if near := nearest.Word(got, words); near != "" && show(got) != hidden {
		return fmt.Sprintf("unknown %s %s; did you mean %q?", what, show(got), near)
	}
	there := "there are"
	if len(words) == 1 {
		there = "there is"
	}
	return fmt.Sprintf("unknown %s %s; %s %s", what, show(got), there, enumerate(words, "and"))
}

// unknownNumber is unknownWord for numbers.
func unknownNumber(what string, got int, numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return fmt.Sprintf("%s cannot be %d; write %s", what, got, enumerate(words, "or"))
}

// enumerate returns words as text, such as "a, b and c".
func enumerate(words []string, conjunction string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + conjunction + " " + words[n]
}

// maxShown is how many characters of a name a message shows.
const maxShown = 64

// hidden is shown instead of a value that may be secret.
const hidden = `"` + notShown + `"`

// notShown replaces a text that is not shown.
const notShown = "…"

// show returns s in quotes for a message. A text that does not look like a name is
// hidden: it may be a DSN that got into the wrong field.
func show(s string) string {
	if utf8.RuneCountInString(s) > maxShown || strings.ContainsAny(s, ":/@=;") {
		return hidden
	}
	return fmt.Sprintf("%q", s)
}
