package main

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	// wholePages are written by a test or a program from texts of the code.
	wholePages = []string{"docs/errors.md", "docs/reference.md"}

	fence         = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	generatedPart = regexp.MustCompile(`(?s)<!-- [a-z][a-z ]*(?:: [^>]*)? -->\n.*?<!-- end(?: of [a-z ]+)? -->`)
	remark        = regexp.MustCompile(`(?s)<!--.*?-->`)
	target        = regexp.MustCompile(`\]\([^)]*\)`)
)

// pages returns the names of the README and of the pages in docs.
func pages(tree fs.FS) ([]string, error) {
	names := []string{"README.md"}
	err := fs.WalkDir(tree, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// words returns how many words of a page are written by hand, and how many are generated.
func words(page, text string) (byHand, generated int) {
	text = fence.ReplaceAllString(text, "")
	if slices.Contains(wholePages, page) {
		return 0, count(text)
	}
	rest := generatedPart.ReplaceAllString(text, "")
	byHand = count(rest)
	return byHand, count(text) - byHand
}

// count returns how many words a text has: what has a letter or a digit in it and white
// space around it. The target of a link is no word.
func count(text string) (n int) {
	text = target.ReplaceAllString(remark.ReplaceAllString(text, ""), "]")
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
