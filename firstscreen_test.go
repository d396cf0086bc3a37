package keyfill_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestFirstScreen: what stands above the first heading of the README fits a screen and
// says what keyfill does, when to do without it, and which source a table gets. Each
// source can be copied into a policy.
func TestFirstScreen(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	screen, _, found := strings.Cut(string(text), "\n## ")
	if lines := strings.Count(screen, "\n") + 1; !found || lines > 36 {
		t.Errorf("the README has %d lines above its first heading, want 36 at most", lines)
	}
	for line := range strings.Lines(screen) {
		if width := len([]rune(strings.TrimRight(line, "\n"))); width > 110 {
			t.Errorf("a line of %d characters: break %q", width, line)
		}
	}
	last := -1
	for _, want := range []string{
		"keyfill wraps a Go `database/sql` driver and fills in primary keys", // what it does
		"**Do without keyfill** where ",                                      // when not to use it
		"| you want | source |\n",                                            // which source to take
		"](docs/sources.md)",
	} {
		place := strings.Index(screen, want)
		if place <= last {
			t.Errorf("%q is not on the first screen, or in another order", want)
		}
		last = place
	}
	rows := regexp.MustCompile("(?m)^\\| .* \\| `(.*)`.* \\|$").FindAllStringSubmatch(screen, -1)
	if len(rows) < 5 {
		t.Errorf("the first screen has %d sources, want 5 or more", len(rows))
	}
	for _, row := range rows {
		file := "version: 1\ntables:\n  t: {keys: [{column: id, source: " + row[1] + "}]}\n"
		if _, err := policy.Parse([]byte(file)); err != nil {
			t.Errorf("%s is no source: %v", row[1], err)
		}
	}
}
