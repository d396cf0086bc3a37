package keyfill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pins is the list of the lines of docs/deviations.md, each with the test that pins what it
// says:
//
//	e2e/statements TestGoldenStores: an explicit NULL in the key column
//
// A folder and a test, a colon, and the beginning of the line, long enough for this line
// alone. "no test" stands instead of a test where none is possible here.
const pins = "testdata/deviations.txt"

// mostUnpinned is how many lines may have no test. It only falls.
const mostUnpinned = 1

// TestDeviationsArePinned: each line of docs/deviations.md has a test, and each line in
// the list is on the page: to remove a line, take it out of both and look at its test.
func TestDeviationsArePinned(t *testing.T) {
	lines := deviations(t)
	text, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	seen, unpinned := map[string]string{}, 0
	for entry := range strings.Lines(string(text)) {
		entry = strings.TrimSuffix(entry, "\n")
		if entry == "" || strings.HasPrefix(entry, "#") {
			continue
		}
		test, beginning, found := strings.Cut(entry, ": ")
		if !found {
			t.Errorf("%s: %q is no test, a colon and the beginning of a line", pins, entry)
			continue
		}
		var begins []string
		for _, line := range lines {
			if line == beginning {
				begins = []string{line} // with which another one begins
				break
			}
			if strings.HasPrefix(line, beginning) {
				begins = append(begins, line)
			}
		}
		switch {
		case len(begins) == 0:
			t.Errorf("docs/deviations.md has no line %q, which %s pins: put it back, or change the test and %s", beginning, test, pins)
			continue
		case len(begins) > 1:
			t.Errorf("%s: %d lines of docs/deviations.md begin with %q: write more of the line", pins, len(begins), beginning)
		}
		if other := seen[begins[0]]; other != "" {
			t.Errorf("%s: %s and %s name the same line, %q", pins, other, test, begins[0])
		}
		seen[begins[0]] = test
		if test == "no test" {
			unpinned++
		} else if !hasTest(t, test) {
			t.Errorf("%s: there is no %s for the line %q", pins, test, beginning)
		}
	}
	for _, line := range lines {
		if seen[line] == "" {
			t.Errorf("docs/deviations.md has the line %q, which %s does not name: write a test that pins it, and a line \"folder Test: beginning of the line\"", line, pins)
		}
	}
	if unpinned > mostUnpinned {
		t.Errorf("%d lines have no test, want %d at most", unpinned, mostUnpinned)
	}
}

// deviations returns the first cells of the tables in docs/deviations.md.
func deviations(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		row, isRow := strings.CutPrefix(line, "| ")
		what, _, _ := strings.Cut(row, " | ")
		if isRow && what != "what" {
			lines = append(lines, what)
		}
	}
	if len(lines) < 190 {
		t.Fatalf("docs/deviations.md has %d lines, want 190 or more", len(lines))
	}
	return lines
}

// hasTest reports whether a folder has a test: "e2e/statements TestArguments".
func hasTest(t *testing.T, test string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(test, " ")
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
