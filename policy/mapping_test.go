package policy_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// ruleKey returns the key of a table whose only key has a source.
func ruleKey(t *testing.T, d *dialect.Dialect, s policy.Source, bits int) policy.RuleKey {
	t.Helper()
	cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s, MaxBits: bits}}}
	p, err := cfg.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return p.Rules()[0].Keys[0]
}

func TestMapping(t *testing.T) {
	tests := []struct {
		source policy.Source
		bits   int
		first  any // the first key
		last   int64
	}{
		{policy.Source{Kind: "pseudorandom"}, 0, int64(16807), 1<<31 - 2},
		{policy.Source{Kind: "pseudorandom", Start: 5}, 31, int64(16807), 1<<31 - 2},
		{policy.Source{Kind: "coprime", Length: 3, Alphabet: "ab", K: 3}, 0, "abb", 8},
		{policy.Source{Kind: "coprime", Length: 3, Alphabet: "ab", K: 11, Start: 7}, 0, "aba", 8},
		{policy.Source{Kind: "coprime", Length: 3, Alphabet: "ab", K: 3, Grow: true}, 0, "abb", 24},
		{policy.Source{Kind: "coprime", Length: 1, Alphabet: "base62", K: 61}, 0, "Z", 62},
		{policy.Source{Kind: "coprime", Length: 1, Alphabet: "base32", K: 31}, 0, "z", 32},
		{policy.Source{Kind: "coprime", Length: 1, K: 61}, 0, "Z", 62},
		{policy.Source{
			Kind: "coprime", Length: 3, Alphabet: "ab", K: 3,
			Table: &policy.KeyTable{Name: "links", Value: "last", Stored: policy.StoredLast},
		}, 0, "abb", 7},
	}
	for _, tt := range tests {
		k := ruleKey(t, dialect.PostgreSQL(), tt.source, tt.bits)
		m, err := k.Source.Mapping(k.State, k.MaxBits)
		if err != nil {
			t.Errorf("%+v has no mapping: %v", tt.source, err)
			continue
		}
		if first := m.Key(1, k.Layout); first != tt.first || m.Last() != tt.last {
			t.Errorf("%+v maps 1 to %v, up to %d; want %v and %d", tt.source, first, m.Last(), tt.first, tt.last)
		}
	}
}

// TestMappingOfScatter: its order depends on the key, else on the state, and on the bits,
// all of which the parameters distinguish.
func TestMappingOfScatter(t *testing.T) {
	parameters := make(map[string]string)
	for _, s := range []policy.Source{{Kind: "scatter"}, {Kind: "scatter", Key: "a"}, {Kind: "scatter", Key: "b"}} {
		for _, state := range []string{"t.id", "u.id"} {
			for _, bits := range []int{31, 53, 63} {
				m, err := s.Mapping(state, bits)
				if err != nil {
					t.Fatal(err)
				}
				if m.Last() != 1<<(bits-1)-1+1<<(bits-1) {
					t.Errorf("%d bits end at %d", bits, m.Last())
				}
				made := fmt.Sprint(s.Key, bits)
				if s.Key == "" {
					made += state
				}
				if other, ok := parameters[m.Parameters()]; ok && other != made {
					t.Errorf("the parameters of %s are those of %s", made, other)
				}
				parameters[m.Parameters()] = made
			}
		}
	}
	if len(parameters) != 4*3 {
		t.Errorf("%d parameters, want 12", len(parameters))
	}
}

// TestMappingOfComposite: the numbers belong to the snowflake that the source describes.
func TestMappingOfComposite(t *testing.T) {
	for _, length := range []int{0, 20, 24} {
		k := ruleKey(t, dialect.MySQL(), policy.Source{Kind: "composite", Worker: new(7), Length: length, Store: "none"}, 0)
		if k.Integer || k.MaxBits != 0 || k.Layout != dialect.SequentialAsString || k.LastInsertID != policy.LastInsertIDOff {
			t.Errorf("the rule of a composite is %+v", k)
		}
		o := k.Source.SnowflakeOptions()
		if worker, err := o.Number(); worker != 7 || err != nil {
			t.Errorf("the worker is %d, %v", worker, err)
		}
		m, err := k.Source.Mapping(k.State, k.MaxBits)
		if err != nil {
			t.Fatal(err)
		}
		// The first millisecond of the second day.
		number := int64(86_400_000)<<(o.Bits.Worker+o.Bits.Sequence) | 7<<o.Bits.Sequence
		want := "00720200102000000000" + "0000"[:max(length, 20)-20]
		if key := m.Key(number, k.Layout); key != want {
			t.Errorf("a composite of length %d is %q, want %q", length, key, want)
		}
	}
}

func TestMappingOfNone(t *testing.T) {
	for _, kind := range policy.KindNames() {
		switch kind {
		case policy.KindPseudorandom, policy.KindScatter, policy.KindCoprime, policy.KindComposite:
			continue
		}
		if m, err := (policy.Source{Kind: kind}).Mapping("t.id", 63); m != nil || err != nil {
			t.Errorf("%s has the mapping %v, %v", kind, m, err)
		}
	}
	for _, s := range []policy.Source{{Kind: "coprime"}, {Kind: "composite", Length: 22}, {Kind: "scatter"}} {
		if m, err := s.Mapping("", 7); m != nil || err == nil {
			t.Errorf("%+v has the mapping %v, %v", s, m, err)
		}
	}
}

// TestMappedBitsOfASharedState: a scatter that columns share makes keys for the
// narrowest of them.
func TestMappedBitsOfASharedState(t *testing.T) {
	cfg := policy.Config{
		Sources: map[string]policy.Source{"s": {Kind: "scatter"}},
		Tables: map[string]policy.Table{
			"a": {Column: "id", Source: "s"}, "b": {Column: "id", Source: "s", MaxBits: 31},
		},
	}
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Rules() {
		m, err := r.Keys[0].Source.Mapping(r.Keys[0].State, r.Keys[0].MaxBits)
		if err != nil || m.Last() != 1<<31-1 {
			t.Errorf("%s has a mapping up to %v, %v", r.Table, m, err)
		}
	}
}
