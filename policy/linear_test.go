package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// TestCompileManyOverlappingGlobs: of many globs of which all match some table together,
// each is compared with the first and not with all. Two globs of more than 32 characters
// are compared with slices of their own, so that what is allocated counts comparisons.
func TestCompileManyOverlappingGlobs(t *testing.T) {
	work := func(n int) float64 {
		cfg := &policy.Config{Tables: map[string]policy.Table{}}
		for i := range n {
			cfg.Tables[fmt.Sprintf("*%s%04d*", strings.Repeat("x", 40), i)] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7}}
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := cfg.Compile(dialect.MySQL()); err == nil {
				t.Fatal("no error")
			}
		})
	}
	if few, many := work(500), work(1000); many > 2.5*few {
		t.Errorf("500 globs are %v allocations, 1000 globs are %v", few, many)
	}
}
