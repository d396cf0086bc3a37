package keyfill_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shortPages are the pages that answer a question in a few minutes. Tables and code are
// looked up, not read: their words do not count.
var shortPages = []string{
	"docs/check.md", "docs/faq.md", "docs/guarantees.md", "docs/keys.md", "docs/kubernetes.md", "docs/layouts.md",
	"docs/limits.md", "docs/numbers.md", "docs/operating.md", "docs/pool.md", "docs/setup.md", "docs/sources.md", "docs/transactions.md",
}

const (
	shortWords   = 900
	sectionWords = 600 // of a page that is read in parts
)

func TestShortPages(t *testing.T) {
	for _, page := range shortPages {
		text := strings.Join(paragraphs(t, page), " ")
		if words := len(strings.Fields(text)); words == 0 || words > shortWords {
			t.Errorf("%s has %d words, want %d at most", page, words, shortWords)
		}
	}
}

// TestShortSections: of docs/frameworks.md a reader reads what all libraries need, and the
// section of one library.
func TestShortSections(t *testing.T) {
	sections := strings.Split(prose(t, "docs/frameworks.md"), "\n## ")
	if len(sections) < 12 || !strings.HasPrefix(sections[1], "What all of them need") {
		t.Fatalf("the page has %d sections, the second one %.30q", len(sections), sections[1])
	}
	common := wordsOf(sections[0]) + wordsOf(sections[1])
	for _, section := range sections[2:] {
		name, text, _ := strings.Cut(section, "\n")
		if n := common + wordsOf(text); n == common || n > sectionWords {
			t.Errorf("with %s a reader has %d words to read, want %d at most", name, n, sectionWords)
		}
	}
}

// wordsOf counts the words of a text without tables and headings.
func wordsOf(text string) int { return len(strings.Fields(strings.Join(split(text), " "))) }

// paragraphs returns the text of a page without code, tables and headings, a paragraph
// or an item of a list each.
func paragraphs(t *testing.T, page string) []string {
	t.Helper()
	return split(prose(t, page))
}

// split splits a text without code into paragraphs.
func split(text string) []string {
	var all []string
	above := ""
	for line := range strings.Lines(text) {
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

// TestBlocksHaveLanguages: the tests of e2e/apps look at a block by its language, and
// this one finds without servers that a block has none.
func TestBlocksHaveLanguages(t *testing.T) {
	blocks := 0
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/") && page != "README.md" && page != "CONTRIBUTING.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		inside := false
		for i, line := range strings.Split(string(text), "\n") {
			language, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			if !isFence {
				continue
			}
			if inside = !inside; !inside {
				continue
			}
			blocks++
			if word, _, _ := strings.Cut(language, " "); !slices.Contains(blockLanguages, word) {
				t.Errorf("%s:%d: a block in %q: write one of %q behind the fence, text for what is no code", page, i+1, language, blockLanguages)
			}
		}
	}
	if blocks < 50 {
		t.Errorf("the pages have %d blocks, want 50 or more", blocks)
	}
}

var blockLanguages = []string{"go", "yaml", "sql", "sh", "diff", "text"}

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
