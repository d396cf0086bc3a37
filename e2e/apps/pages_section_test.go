package apps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// section is the part of a page that a test writes, between two comments.
type section struct {
	page                string
	before, text, after string
}

// sectionOf returns the section of a page of docs after the comment begin.
func sectionOf(t *testing.T, page, begin, end string) section {
	t.Helper()
	s := section{page: filepath.Join(root, "docs", page)}
	text, err := os.ReadFile(s.page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	inside, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has not both %q and %q", s.page, begin, end)
	}
	s.before, s.text, s.after = before+begin, inside, end+after
	return s
}

// write writes another text into the section.
func (s section) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.page, []byte(s.before+text+s.after), 0o644); err != nil {
		t.Fatal(err)
	}
}
