package keyfill_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeIsShort: a reader decides in a few minutes. What the README does not
// say has a page of its own in docs.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(text))); words > 1000 {
		t.Errorf("README.md has %d words, want 1,000 at most", words)
	}
}

// TestCommandIsFound: a page that shows a command line of keyfill says where the reader
// gets that command.
func TestCommandIsFound(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	line := regexp.MustCompile(`(?m)^ *keyfill [a-z]+ .*--`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if line.Match(text) && !strings.Contains(string(text), "(setup.md#the-command)") {
			t.Errorf("%s shows a command line of keyfill and does not link to setup.md#the-command", page)
		}
	}
}

// TestUpdateIsLast: go test hands the words after a flag that it does not know to the
// test, so that "-update ./folder" would test the folder in which it is run.
func TestUpdateIsLast(t *testing.T) {
	wrong := regexp.MustCompile(`go test [^|"\n]*-update \.`)
	right := regexp.MustCompile(`go test [^|"\n]*\. -update|go test [^|"\n]*\./[a-z]+ -update`)
	found := 0
	for _, name := range append(filesNamed(t, ".go"), pages(t)...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found += len(right.FindAll(text, -1))
		if line := wrong.Find(text); line != nil && name != "readme_test.go" {
			t.Errorf("%s has %q: write the folder before -update", name, line)
		}
	}
	if found < 5 {
		t.Errorf("%d commands with -update were found, want 5 or more", found)
	}
}
