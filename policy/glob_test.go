package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

func TestGlobMatch(t *testing.T) {
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
		if got := policy.GlobMatch(tt.glob, tt.s); got != tt.want {
			t.Errorf("GlobMatch(%q, %q) = %v, want %v", tt.glob, tt.s, got, tt.want)
		}
	}
}

// TestGlobMatchIsNotExponential takes for ever if each * is tried anew for
// each end of those before it.
func TestGlobMatchIsNotExponential(t *testing.T) {
	glob := strings.Repeat("a*", 60) + "b"
	if policy.GlobMatch(glob, strings.Repeat("a", 250)) {
		t.Errorf("GlobMatch(%q) finds a b", glob)
	}
}

// TestGlobsMeet compares with trying all words of six letters, which is enough
// for globs of three characters.
func TestGlobsMeet(t *testing.T) {
	globs, words := wordsOf("ab*?", 3), wordsOf("abc", 6)
	matched := make(map[string][]string)
	for _, g := range globs {
		for _, w := range words {
			if policy.GlobMatch(g, w) {
				matched[g] = append(matched[g], w)
			}
		}
	}
	for i, g := range globs {
		for _, h := range globs[i:] {
			want := intersect(matched[g], matched[h])
			if got := policy.GlobsMeet(g, h); got != want {
				t.Fatalf("GlobsMeet(%q, %q) = %v, want %v", g, h, got, want)
			}
			if policy.GlobsMeet(h, g) != want {
				t.Fatalf("GlobsMeet(%q, %q) differs from its mirror", h, g)
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

// TestGlobsThatAllMeet: each glob is reported once, whatever the number of those
// that it meets, so that many of them cost no more than their number.
func TestGlobsThatAllMeet(t *testing.T) {
	const globs = 500
	cfg := &policy.Config{Tables: map[string]policy.Table{}}
	for i := range globs {
		cfg.Tables[fmt.Sprintf("*_%03d_*", i)] = policy.Table{Column: "id", Source: "uuidv7"}
	}
	_, err := cfg.Compile(dialect.PostgreSQL())
	if want := fmt.Sprintf("and %d more", globs-1-10); err == nil || !strings.HasSuffix(plain(err), want) {
		t.Errorf("error %v, want one that ends in %q", err, want)
	}
}
