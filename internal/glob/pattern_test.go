package glob_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/glob"
)

func globMatch(text, s string) bool { return glob.Pattern{Text: text, Wild: true}.Match(s) }

func globsMeet(a, b string) bool {
	return glob.Pattern{Text: a, Wild: true}.Meets(glob.Pattern{Text: b, Wild: true})
}

func TestMatch(t *testing.T) {
	tests := []struct {
		glob, s string
		want    bool
	}{
		{"*", "", true}, {"*", "abc", true}, {"?", "", false}, {"?", "é", true}, {"??", "é", false},
		{"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXbYbZ", false}, {"**", "x", true},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*?", "", false}, {"*?", "é", true},
		{"*é", "aé", true}, {"*aab", "aaab", true}, {"?*?", "a", false},
		{"a*", "a\xff", true}, {"a?", "a\xff", true}, {"a*", "A", false}, {"*", "a*b", true},
	}
	for _, tt := range tests {
		if got := globMatch(tt.glob, tt.s); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.glob, tt.s, got, tt.want)
		}
	}
}

// TestMatchIsNotExponential takes for ever if each * is tried anew for
// each end of those before it.
func TestMatchIsNotExponential(t *testing.T) {
	stars := strings.Repeat("a*", 60) + "b"
	if globMatch(stars, strings.Repeat("a", 250)) {
		t.Errorf("Match(%q) finds a b", stars)
	}
}

// TestMeets compares with trying all words of six letters, which is enough
// for globs of three characters.
func TestMeets(t *testing.T) {
	globs, words := wordsOf("ab*?", 3), wordsOf("abc", 6)
	matched := make(map[string][]string)
	for _, g := range globs {
		for _, w := range words {
			if globMatch(g, w) {
				matched[g] = append(matched[g], w)
			}
		}
	}
	for i, g := range globs {
		for _, h := range globs[i:] {
			want := intersect(matched[g], matched[h])
			if got := globsMeet(g, h); got != want {
				t.Fatalf("Meets(%q, %q) = %v, want %v", g, h, got, want)
			}
			if globsMeet(h, g) != want {
				t.Fatalf("Meets(%q, %q) differs from its mirror", h, g)
			}
		}
	}
}

// wordsOf returns all words of 1 to n letters of the alphabet.
func wordsOf(alphabet string, n int) []string {
	var all []string
	last := []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all = append(all, next...)
		last = next
	}
	return all
}

// intersect reports whether two lists in the same order share a word.
func intersect(a, b []string) bool {
	in := make(map[string]bool, len(a))
	for _, w := range a {
		in[w] = true
	}
	for _, w := range b {
		if in[w] {
			return true
		}
	}
	return false
}
