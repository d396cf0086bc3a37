package keyfill_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
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

// TestDocumentedPolicies: every policy in the README and in docs is one, for the
// dialect that it names, else for every one, but for SQLite what SQLite does not
// have.
func TestDocumentedPolicies(t *testing.T) {
	want := map[string]int{"README.md": 1, "docs/setup.md": 1, "docs/integers.md": 1, "docs/methods.md": 10}
	for _, page := range pages(t) {
		policies := policiesIn(t, page)
		if len(policies) < want[page] {
			t.Errorf("%s has %d policies, want %d or more", page, len(policies), want[page])
		}
		delete(want, page)
		for _, one := range policies {
			if !strings.HasPrefix(one, "version:") && !strings.Contains(one, "\nversion:") {
				one = "version: 1\n" + one
			}
			switch {
			case strings.Contains(one, "dialect: postgres"):
				compileFor(t, one, dialect.PostgreSQL())
			case strings.Contains(one, "below:"):
				compileFor(t, one, dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite())
			case strings.Contains(one, "via: procedure"), strings.Contains(one, "worker_lease"):
				compileFor(t, one, serverDialects()...)
			default:
				compileEverywhere(t, one)
			}
		}
	}
	for page := range want {
		t.Errorf("there is no %s", page)
	}
}

// serverDialects are all but SQLite.
func serverDialects() []*dialect.Dialect {
	return slices.DeleteFunc(slices.Clone(dialect.All()), func(d *dialect.Dialect) bool { return d.OneWriter })
}

// policiesIn returns the blocks of YAML in a file.
func policiesIn(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var policies []string
	for _, part := range strings.Split(string(text), "```") {
		if one, found := strings.CutPrefix(part, "yaml\n"); found {
			policies = append(policies, one)
		}
	}
	return policies
}

func compileEverywhere(t *testing.T, text string) {
	t.Helper()
	compileFor(t, text, dialect.All()...)
}

func compileFor(t *testing.T, text string, dialects ...*dialect.Dialect) {
	t.Helper()
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		t.Errorf("%v in\n%s", err, text)
		return
	}
	for _, d := range dialects {
		if _, err := cfg.Compile(d); err != nil {
			t.Errorf("%s: %v in\n%s", d.Name, err, text)
		}
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
