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
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```")
	policies := slices.DeleteFunc(parts, func(part string) bool { return !strings.HasPrefix(part, "yaml\n") })
	if len(policies) != 2 {
		t.Errorf("%d policies, want 2", len(policies))
	}
	for _, one := range policies {
		cfg, err := policy.Parse([]byte(strings.TrimPrefix(one, "yaml\n")))
		if err != nil {
			t.Errorf("%v in%s", err, one)
			continue
		}
		for _, d := range dialect.All() {
			if _, err := cfg.Compile(d); err != nil {
				t.Errorf("%s: %v in%s", d.Name, err, one)
			}
		}
	}
}
