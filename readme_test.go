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
