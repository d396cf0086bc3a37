package keyfill_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pages returns the names of all pages of Markdown, slashes between folders.
func pages(t *testing.T) []string {
	t.Helper()
	return filesNamed(t, ".md")
}

// filesNamed returns the names of all files of the repository that end in suffix.
func filesNamed(t *testing.T, suffix string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case strings.HasSuffix(name, suffix):
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageName = regexp.MustCompile(`\bdocs/[a-z_-]+\.md\b`)
	named    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// TestLinks: every link between pages leads to a file, and to a heading of it
// where it names one.
func TestLinks(t *testing.T) {
	anchors := make(map[string]map[string]bool)
	for _, page := range pages(t) {
		anchors[page] = headings(prose(t, page))
	}
	followed := 0
	for page := range anchors {
		for _, link := range linked.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			followed++
			file, anchor, _ := strings.Cut(link[1], "#")
			target := page
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
			} else if anchor != "" && !anchors[target][anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", page, link[1], target)
			}
		}
	}
	if followed < 20 {
		t.Errorf("%d links were followed, want 20 or more", followed)
	}
}

// TestNamedPages: a page that the code or a page names in words is there.
func TestNamedPages(t *testing.T) {
	for _, name := range append(filesNamed(t, ".go"), pages(t)...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pageName.FindAllString(string(text), -1) {
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	}
}

// TestIndexIsWhole: the index of docs leads to each of its pages.
func TestIndexIsWhole(t *testing.T) {
	index := prose(t, "docs/README.md")
	for _, page := range pages(t) {
		name, inDocs := strings.CutPrefix(page, "docs/")
		if inDocs && name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

// prose returns a page without what stands between fences.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// headings returns the anchors that GitHub makes of a page's headings: lower
// case, spaces as hyphens, and of the rest only letters, digits, hyphens and
// underscores.
func headings(text string) map[string]bool {
	anchors := make(map[string]bool)
	for line := range strings.Lines(text) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		title = named.ReplaceAllString(strings.TrimSpace(title), "$1")
		anchors[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, title)] = true
	}
	return anchors
}
