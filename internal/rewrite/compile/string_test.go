package compile_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
)

// TestStringEnds: a string ends at the first quote that is neither doubled nor behind
// a backslash that escapes it. All texts of up to nine characters that matter are
// read as a reader would that looks at one character at a time.
func TestStringEnds(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.SQLite()} {
		var try func(text string)
		try = func(text string) {
			want := endOfString(text, d.Lexis.BackslashEscapes)
			if got := compile.Tokens(d, text)[0].End; got != want {
				t.Errorf("%s: %s: the first token ends at %d, want %d", d.Name, text, got, want)
			}
			if len(text) == 10 {
				return
			}
			for _, c := range []string{"a", "'", `\`} {
				try(text + c)
			}
		}
		try("'")
	}
}

// endOfString returns where the string ends that text begins with; the end of the
// text where it does not end.
func endOfString(text string, backslash bool) int {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && backslash:
			i++
		case c == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case c == '\'':
			return i + 1
		}
	}
	return len(text)
}
