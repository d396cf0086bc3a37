package apps_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// errQuote is about a quote that has no end.
var errQuote = errors.New("a quote without its end")

// split returns the words of a command line as a shell does, but for expansions: words in
// single or double quotes hold what stands in them.
func split(line string) ([]string, error) {
	var (
		words []string
		word  strings.Builder
		quote rune
		open  bool // a word has begun
	)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`keyfill explain 'INSERT INTO t (a) VALUES (?)'`: {"keyfill", "explain", "INSERT INTO t (a) VALUES (?)"},
		`a  "b c"'d' ''`: {"a", "b cd", ""},
	} {
		if got, err := split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, %v, want %q", line, got, err, want)
		}
	}
	if words, err := split("a 'b"); err == nil {
		t.Errorf("split of an open quote = %q", words)
	}
}
