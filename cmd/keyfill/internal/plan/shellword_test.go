package plan

import "testing"

// TestShellWord: a name is one word of a command line.
func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"orders": "orders", "": "''", `"a b"`: `'"a b"'`, "it's": `'it'\''s'`} {
		if got := shellWord(text); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", text, got, want)
		}
	}
}
