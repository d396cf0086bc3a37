package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestSample: the same seed draws the same comments, another one others, and none twice.
func TestSample(t *testing.T) {
	tree := fstest.MapFS{
		"a/a.go":      {Data: []byte("// Package a does nothing.\npackage a\n\n// one returns one of them.\nfunc one() int { return 1 }\n\n// two words\n\nvar x = 1 // the first of all\n")},
		"a/a_test.go": {Data: []byte("package a\n\n// three words here.\n")},
	}
	draw := func(seed string, n int) string {
		t.Helper()
		var out strings.Builder
		if err := sample(&out, tree, seed, n); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	all := draw("a", 9)
	if strings.Count(all, "a/a.go:") != 3 || strings.Contains(all, "a_test.go") || !strings.Contains(all, "func one() int { return 1 }") {
		t.Errorf("of three comments are drawn:\n%s", all)
	}
	if first, again := draw("a", 2), draw("a", 2); first != again {
		t.Error("one seed draws twice, and otherwise")
	}
	others := false
	for _, seed := range strings.Split("bcdefghij", "") {
		others = others || draw(seed, 1) != draw("a", 1)
	}
	if !others {
		t.Error("all seeds draw the same comment")
	}
}
