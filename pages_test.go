package keyfill_test

import (
	"regexp"
	"strings"
	"testing"
)

// shortPages are the pages that answer a question in a few minutes. Tables and code are
// looked up, not read: their words do not count.
var shortPages = []string{
	"docs/check.md", "docs/faq.md", "docs/frameworks.md", "docs/guarantees.md", "docs/keys.md", "docs/layouts.md",
	"docs/limits.md", "docs/operating.md", "docs/pool.md", "docs/setup.md", "docs/sources.md", "docs/transactions.md",
}

const shortWords = 900

func TestShortPages(t *testing.T) {
	for _, page := range shortPages {
		text := strings.Join(paragraphs(t, page), " ")
		if words := len(strings.Fields(text)); words == 0 || words > shortWords {
			t.Errorf("%s has %d words, want %d at most", page, words, shortWords)
		}
	}
}

// paragraphs returns the text of a page without code, tables and headings, a paragraph
// or an item of a list each.
func paragraphs(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	above := ""
	for line := range strings.Lines(prose(t, page)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "|"), strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<!--"):
			above = ""
			continue
		case above == "" || listItem.MatchString(line):
			all = append(all, "")
		}
		above = line
		all[len(all)-1] += " " + line
	}
	return all
}

var (
	listItem      = regexp.MustCompile(`^([-*]|[0-9]+\.) `)
	endOfSentence = regexp.MustCompile(`[.:?!](\*\*)?\s`)
)

// TestNoSentenceTwice: what one page says another one links to, so that both cannot come
// to say different things.
func TestNoSentenceTwice(t *testing.T) {
	const least = 8 // words; shorter sentences may be alike
	first := map[string]string{}
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/") && page != "README.md" {
			continue
		}
		for _, paragraph := range paragraphs(t, page) {
			for _, sentence := range endOfSentence.Split(paragraph+" ", -1) {
				words := strings.Fields(sentence)
				sentence = strings.Join(words, " ")
				if len(words) < least {
					continue
				}
				if other, told := first[sentence]; told && other != page {
					t.Errorf("%s says what %s says: %q", page, other, sentence)
				}
				first[sentence] = page
			}
		}
	}
	if len(first) < 500 {
		t.Errorf("%d sentences were compared, want 500 or more", len(first))
	}
}
