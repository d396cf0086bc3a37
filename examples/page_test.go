package main

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPage: the folders that docs/frameworks.md names are here. The tests of e2e/apps
// compile its lines.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/frameworks.md")
	if err != nil {
		t.Fatal(err)
	}
	folders := regexp.MustCompile("Folders? `([a-z]+)`(?: and `([a-z]+)`)?").FindAllStringSubmatch(string(page), -1)
	if len(folders) < 9 {
		t.Errorf("the page names %d folders, want 9 or more", len(folders))
	}
	for _, names := range folders {
		for _, name := range slices.DeleteFunc(names[1:], func(s string) bool { return s == "" }) {
			if _, err := os.Stat(name); err != nil {
				t.Error(err)
			}
		}
	}
}
