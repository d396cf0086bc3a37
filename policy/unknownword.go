package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unknownWord returns the message for a word that is none of words: the one that
// was likely meant, else all of them.
func unknownWord(what, got string, words []string) string {
	if near := nearest(got, words); near != "" && show(got) != hidden {
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

// enumerate returns "a, b and c".
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
const hidden = `"…"`

// show returns s in quotes for a message. What does not look like a name is not
// shown: it may be a DSN that got into the wrong field.
func show(s string) string {
	if utf8.RuneCountInString(s) > maxShown || strings.ContainsAny(s, ":/@=;") {
		return hidden
	}
	return fmt.Sprintf("%q", s)
}

// minBeginning is how many bytes a word has at least that is taken for the
// beginning of another one.
const minBeginning = 4

// nearest returns a word that begins with got, else a word that got misspells,
// else a word that got begins with, else "".
func nearest(got string, words []string) string {
	got = strings.ToLower(got)
	best, bound := "", 2
	if len(got) >= minBeginning {
		for _, w := range words {
			if strings.HasPrefix(w, got) {
				return w // uuidv7 for uuid, which is nearer to ulid
			}
		}
	}
	for _, w := range words {
		limit := min(bound, len(w)/3)
		if len(got)-len(w) > limit || len(w)-len(got) > limit {
			continue
		}
		if n := distance(got, w); n <= limit {
			best, bound = w, n-1
		}
	}
	for _, w := range words {
		if best == "" && len(w) >= minBeginning && strings.HasPrefix(got, w) {
			best = w // postgres for postgresql
		}
	}
	return best
}

// distance returns how many bytes must be added, left out, replaced or swapped
// with their neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			n := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, rows[i-2][j-2]+1)
			}
			rows[i][j] = n
		}
	}
	return rows[len(a)][len(b)]
}
