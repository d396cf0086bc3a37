package main

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage: the folders that docs/frameworks.md names are here, and its lines are Go.
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
	for i, part := range strings.Split(string(page), "```") {
		code, isGo := strings.CutPrefix(part, "go\n")
		if i%2 == 0 || !isGo {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+code+"}\n", 0); err != nil {
			t.Errorf("%v in\n%s", err, code)
		}
	}
}
