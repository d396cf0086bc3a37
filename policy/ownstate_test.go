package policy_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// TestMatchOwn: a state is a column's own where nothing gives it a name, however
// many tables have it just now.
func TestMatchOwn(t *testing.T) {
	cfg := &policy.Config{
		Sources: map[string]policy.Source{"one": {Kind: "sequence"}, "named": {Kind: "sequence", Name: "{table}-no"}},
		Tables: map[string]policy.Table{
			"a":   {Column: "id", Source: "one"},
			"b":   {Column: "id", Source: "named"},
			"c":   {Column: "id", Source: "sequence"},
			"d":   {Column: "id", InPlace: &policy.Source{Kind: "sequence"}},
			"e":   {Column: "id", InPlace: &policy.Source{Kind: "sequence", Name: "e.id"}},
			"f_*": {Column: "id", InPlace: &policy.Source{Kind: "sequence"}},
		},
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]bool{"a": false, "b": false, "c": true, "d": true, "e": false, "f_1": true} {
		if got := p.Match("", table).Keys[0].Own; got != want {
			t.Errorf("%s: Own is %v, want %v", table, got, want)
		}
	}
}
