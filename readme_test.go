package keyfill_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// TestReadmePolicies: every policy in the README is one, for every dialect.
func TestReadmePolicies(t *testing.T) {
	policies := policiesIn(t, "README.md")
	if len(policies) != 2 {
		t.Errorf("%d policies, want 2", len(policies))
	}
	for _, one := range policies {
		compileEverywhere(t, one)
	}
}

// TestMethodPolicies: so is every one in docs/methods.md, for the dialect that it
// names, or for every one, but for SQLite what it does not have.
func TestMethodPolicies(t *testing.T) {
	policies := policiesIn(t, "docs/methods.md")
	if len(policies) < 10 {
		t.Errorf("%d policies, want 10 or more", len(policies))
	}
	for _, one := range policies {
		one = "version: 1\n" + one
		switch {
		case strings.Contains(one, "dialect: postgres"):
			compileFor(t, one, dialect.PostgreSQL())
		case strings.Contains(one, "via: procedure"), strings.Contains(one, "worker_lease"):
			compileFor(t, one, serverDialects()...)
		default:
			compileEverywhere(t, one)
		}
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
