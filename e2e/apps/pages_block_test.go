package apps_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// root is the root of the repository.
const root = "../.."

// block is what stands between two fences of a page.
type block struct {
	page     string   // as in "docs/setup.md"
	line     int      // of the page, from 1, on which text begins
	language string   // the first word after the fence
	marks    []string // the other words
	text     string   // without the indentation of the fence
}

// String says where the block is.
func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// name names the block in a list: by its page and its first line, since the number of a
// line changes with what stands before it.
func (b block) name() string {
	first, _, _ := strings.Cut(b.text, "\n")
	return b.page + ": " + strings.TrimSpace(first)
}

// has reports whether the block has a mark.
func (b block) has(mark string) bool { return slices.Contains(b.marks, mark) }

// file is the name of the file whose text the block is, by its mark "file=name"; may be
// empty.
func (b block) file() string {
	for _, mark := range b.marks {
		if name, ok := strings.CutPrefix(mark, "file="); ok {
			return name
		}
	}
	return ""
}

// isOfRecipe reports whether TestFrameworks looks at the block.
func (b block) isOfRecipe() bool { return strings.HasPrefix(b.page, frameworks) }

// pages returns the names of the pages whose blocks are tested: all of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base[0] == '.' || base == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		below, err := filepath.Rel(root, name)
		names = append(names, filepath.ToSlash(below))
		return err
	})
	if err != nil || !slices.Contains(names, "README.md") || !slices.Contains(names, "docs/frameworks.md") {
		t.Fatalf("the pages are %q, error %v", names, err)
	}
	return names
}

// blocks returns the blocks of all pages in a language.
func blocks(t *testing.T, languages ...string) []block {
	t.Helper()
	var found []block
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			if slices.Contains(languages, b.language) {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("the pages have no block of %s", strings.Join(languages, ", "))
	}
	return found
}

// blocksOf returns the blocks of a page.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	found, err := parse(page, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	fence = regexp.MustCompile("^( *)```([^`]*)$")
	item  = regexp.MustCompile(`^ *([-*]|[0-9]+\.) `)
)

// parse returns the blocks in the text of a page. A block without fences, which Markdown
// makes of four spaces outside of a list, is an error: its language is not given.
func parse(page, text string) ([]block, error) {
	var (
		found       []block
		open        *block
		indent      string
		above, last string // the line before, and the last one that began a paragraph or an item
	)
	for i, line := range strings.Split(text, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case match != nil && open == nil:
			words := strings.Fields(match[2])
			if len(words) == 0 {
				return nil, fmt.Errorf("%s:%d: a block without a language", page, i+1)
			}
			indent = match[1]
			open = &block{page: page, line: i + 2, language: words[0], marks: words[1:]}
		case match != nil && strings.TrimSpace(match[2]) == "":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(line, "    ") && above == "" && !item.MatchString(last) && !item.MatchString(line):
			return nil, fmt.Errorf("%s:%d: a block without fences", page, i+1)
		}
		if above = strings.TrimSpace(line); above != "" && (!strings.HasPrefix(line, " ") || item.MatchString(line)) {
			last = line
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: a block has no end", open)
	}
	return found, nil
}

// tested are the languages, with the test that each has.
var tested = map[string]string{
	"go":   "TestGo",
	"diff": "TestGo",
	"yaml": "TestPolicies",
	"sql":  "TestStatements",
	"sh":   "TestCommands",
	"text": "TestShown, as a statement; else TestBlocks, as a part of an error or as what is listed in notCode",
	// In docs/frameworks TestFrameworks looks at all of them.
}

// notCode are the blocks that no program reads, with the reason.
var notCode = map[string]string{
	"docs/architecture.md: +----------------+----------------+----------------+----------------+":                                            "a picture",
	"docs/architecture.md: +-------------------------------------------------------------------+":                                            "a picture",
	"docs/architecture.md: cmd/keyfill               a file for each command":                                                                "a picture",
	"docs/architecture.md: application":                                                                                                      "a picture",
	"docs/audit.md: error: gap: invoices.number in 2026: INV-2026-00017 to INV-2026-00018 are missing (2 numbers)":                           "TestAuditTexts of cmd/keyfill compares such findings",
	"docs/numbers.md: id 01a23190-fbf0-7ca1-b943-8a90178c2d8c":                                                                               "TestFrameworks compares it with what the programs print",
	"docs/operating.md: appendonly yes":                                                                                                      "TestSettings of keyfillredis starts a server with it",
	"docs/operating.md: ACL SETUSER shop on >password ~keyfill/* -@all +eval +evalsha +info +time +exists +hmget +hget +hgetall +hset +hdel": "TestRights of keyfillredis grants it",
	`docs/publicids.md: {"id":"cus_01m8fq7700e008000000000000","name":"Ada"}`:                                                                "TestPublicIDsPage compares it with what the program prints",
	"docs/vet.md: # .custom-gcl.yml":                                                                                                         "golangci-lint reads it, after a release",
	"docs/vet.md: # .golangci.yml":                                                                                                           "golangci-lint reads it; TestGolangci has the same fields",
	"docs/vet.md: # steps of a workflow":                                                                                                     "a code host reads it",
}

// isPartOfError reports whether all that a block says, but for "…", is in the texts of
// docs/errors.md, which the code of today has.
func isPartOfError(t *testing.T, b block) bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range strings.Split(b.text, "…") {
		if piece = strings.Trim(piece, "; \n"); !strings.Contains(string(page), piece) {
			return false
		}
	}
	return true
}

// storyBegins is how a story of the simulator begins.
var storyBegins = regexp.MustCompile(`^docs/simulator\.md: (World \d+ of the trial|A law is broken\. )`)

// TestBlocks: every block is in a language that a test looks at, and what is no code says
// why.
func TestBlocks(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	seen := map[string]bool{}
	count := 0
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			count++
			switch {
			case b.isOfRecipe():
			case tested[b.language] == "":
				t.Errorf("%s is in %q, which no test looks at", b, b.language)
			case b.language == "text" && storyBegins.MatchString(b.name()):
				// TestSimulatorPage of keysource prints it.
			case b.page == walkthroughPage && b.has("output"):
				// TestWalkthrough compares it.
			case b.language == "text":
				seen[b.name()] = true
				if notCode[b.name()] == "" && !isShown(b) && !isPartOfError(t, b) {
					t.Errorf("%s is no code, and no part of an error of docs/errors.md: say why in notCode, as %q", b, b.name())
				}
			}
		}
	}
	for name := range notCode {
		if !seen[name] {
			t.Errorf("notCode lists %q, which is not there", name)
		}
	}
	if count < 50 {
		t.Errorf("the pages have %d blocks, want 50 or more", count)
	}
}

// TestParse: a block that no test would look at is an error.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```\na\n```\n":                    "p.md:1: a block without a language",
		"a\n\n    b\n":                     "p.md:3: a block without fences",
		"```go\na\n":                       "p.md:2: a block has no end",
		"- a\n\n      b\n":                 "",
		"a\n    b\n":                       "",
		"1. a\n\n   ```sh\n   b\n   ```\n": "",
	} {
		got := ""
		if _, err := parse("p.md", text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("parse(%q) says %q, want %q", text, got, want)
		}
	}
	found, err := parse("p.md", "1. a\n\n   ```yaml fragment\n   b:\n     c: d\n   ```\n")
	if err != nil || len(found) != 1 || found[0].text != "b:\n  c: d\n" || !found[0].has("fragment") || found[0].line != 4 {
		t.Errorf("parse found %+v, error %v", found, err)
	}
}
