package counting_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

// mappings are mappings of all kinds, each with how to find the number of a key.
func mappings(t testing.TB) map[string]mapped {
	t.Helper()
	all := map[string]mapped{"pseudorandom": mappedInteger{keysource.NewPseudorandom()}}
	for _, bits := range []int{31, 53, 63} {
		s, err := keysource.NewScatter(bits, "orders")
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("scatter %d", bits)] = mappedInteger{s}
	}
	for name, o := range map[string]keysource.CoprimeOptions{
		"coprime":          {Length: 6},
		"coprime article":  {Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK},
		"coprime grow":     {Length: 3, Alphabet: keysource.AlphabetBase62, Grow: true, Start: 99},
		"coprime residues": {Length: 5, Alphabet: keysource.AlphabetBase62, Residues: true},
	} {
		all[name] = mappedText{newCoprime(t, o)}
	}
	return all
}

// mapped is a mapping with its inverse.
type mapped interface {
	keysource.Mapping
	numberOf(key driver.Value) (int64, error)
}

type mappedInteger struct{ integerMapping }

type integerMapping interface {
	keysource.Mapping
	Number(key int64) (int64, error)
}

func (m mappedInteger) numberOf(key driver.Value) (int64, error) {
	if text, ok := key.(string); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, err
		}
		key = n
	}
	return m.Number(key.(int64))
}

type mappedText struct{ *keysource.Coprime }

func (m mappedText) numberOf(key driver.Value) (int64, error) { return m.Number(key.(string)) }

// TestMappingExhausted: three characters of 62 make 238,328 keys, drawn to the last one
// through a Sequence; then there is an error that names the remedy, or there are keys of
// four characters.
func TestMappingExhausted(t *testing.T) {
	for _, grow := range []bool{false, true} {
		t.Run(fmt.Sprintf("grow %t", grow), func(t *testing.T) {
			const most = 238_328
			c := newCoprime(t, keysource.CoprimeOptions{Length: 3, Alphabet: keysource.AlphabetBase62, Grow: grow})
			l := new(ledger)
			o := counting.SequenceOptions{Max: c.Last(), EndRemedy: keysource.EndRemedy(c)}
			s := newSequence(t, l, o)
			seen := make(map[driver.Value]struct{}, most)
			for drawn := 0; drawn < most; {
				n := min(1+drawn%40, most-drawn)
				_, keys, err := drawMapped(t.Context(), s, mappedText{c}, n)
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range keys {
					if len(key.(string)) != 3 {
						t.Fatalf("key %v of %d", key, len(seen))
					}
					seen[key] = struct{}{}
				}
				drawn += n
			}
			if len(seen) != most {
				t.Fatalf("%d different keys", len(seen))
			}
			first, err := s.Reserve(t.Context(), 1)
			if !grow {
				if !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "grow: true, where the column holds 4 characters") {
					t.Errorf("after the last key: %d, %v", first, err)
				}
				// Another process, on a store that has advanced.
				l.do(func(st *ledgerState) { st.next = most + 1000 })
				if _, err := newSequence(t, l, o).Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrExhausted) {
					t.Errorf("of a store beyond the last key: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if key := c.Key(first, str).(string); len(key) != 4 {
				t.Errorf("after all of 3 characters comes %s", key)
			}
		})
	}
}

// TestMappingLayouts: integers are sent as such or as decimal text; text is
// text.
func TestMappingLayouts(t *testing.T) {
	for name, m := range mappings(t) {
		for _, number := range []int64{1, 2, m.Last()/2 + 1, m.Last()} {
			bare, asText := m.Key(number, ""), m.Key(number, str)
			if text, ok := asText.(string); !ok || fmt.Sprint(bare) != text {
				t.Errorf("%s: number %d is %v and %v", name, number, bare, asText)
			}
			dialect.MySQL().AppendLiteral(nil, asText) // panics on what needs quotes
			for _, l := range []dialect.Layout{"", str} {
				if got, err := m.numberOf(m.Key(number, l)); err != nil || got != number {
					t.Errorf("%s: number %d comes back as %d, %v", name, number, got, err)
				}
			}
		}
	}
}

// TestMappingRange: numbers that a mapping does not have make no keys.
func TestMappingRange(t *testing.T) {
	for name, m := range mappings(t) {
		last := m.Last()
		for _, tt := range []struct {
			first int64
			n     int
			want  error
		}{
			{1, 0, keysource.ErrCount},
			{1, -1, keysource.ErrCount},
			{0, 1, keysource.ErrStoreState},
			{0, 2, keysource.ErrStoreState},
			{math.MinInt64, 1, keysource.ErrStoreState},
			{last, 2, keysource.ErrExhausted},
			{last - 1, 3, keysource.ErrExhausted},
			{math.MaxInt64, 2, keysource.ErrExhausted},
		} {
			if keys, err := mapping.Keys(m, tt.first, tt.n, ""); keys != nil || !errors.Is(err, tt.want) {
				t.Errorf("%s: %d keys from %d: %d, %v", name, tt.n, tt.first, len(keys), err)
			}
		}
		if keys, err := mapping.Keys(m, last, 1, ""); len(keys) != 1 || err != nil {
			t.Errorf("%s: the last key: %v, %v", name, keys, err)
		}
		for _, number := range []int64{math.MinInt64, -1, 0, last + 1} { // of 63 bits the first again
			if !panics(func() { m.Key(number, "") }) {
				t.Errorf("%s: number %d has a key", name, number)
			}
		}
		if got := m.Parameters(); got == "" || len(got) > 1000 || got != m.Parameters() {
			t.Errorf("%s: %d characters of parameters", name, len(got))
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestShare(t *testing.T) {
	p := keysource.NewPseudorandom()
	for _, tt := range []struct {
		next int64
		want float64
	}{
		{math.MinInt64 + 1, 0}, {0, 0}, {1, 0}, {(math.MaxInt32-1)/2 + 1, 0.5},
		{math.MaxInt32, 1}, {math.MaxInt64, 1},
	} {
		if got := mapping.Share(p, tt.next); got != tt.want {
			t.Errorf("Share(%d) = %v, want %v", tt.next, got, tt.want)
		}
	}
	c := newCoprime(t, keysource.CoprimeOptions{Length: 1, Alphabet: "0123456789"})
	if before, at := mapping.Share(c, 8), mapping.Share(c, 9); before >= mapping.WarnShare || at < mapping.WarnShare {
		t.Errorf("after 7 of 10 keys %v, after 8 %v", before, at)
	}
}

func TestEndRemedy(t *testing.T) {
	scatter := func(bits int) keysource.Mapping {
		s, err := keysource.NewScatter(bits, "orders")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const base62 = keysource.AlphabetBase62
	for _, tt := range []struct {
		m    keysource.Mapping
		want string
	}{
		{keysource.NewPseudorandom(), "a sequence with start: 2147483647"},
		{scatter(31), "a sequence with start: 2147483648"},
		{scatter(53), "a sequence with start: 9007199254740992"},
		{scatter(63), "another table"},
		{newCoprime(t, keysource.CoprimeOptions{Length: 6}), "grow: true, where the column holds 7 characters"},
		{newCoprime(t, keysource.CoprimeOptions{Length: 6, Grow: true}), "length 8"},
		{newCoprime(t, keysource.CoprimeOptions{Length: 6, Residues: true}), "length 7"},
		{newCoprime(t, keysource.CoprimeOptions{Length: 10, Alphabet: base62}), "another table"},
	} {
		if got := keysource.EndRemedy(tt.m); !strings.Contains(got, tt.want) {
			t.Errorf("EndRemedy of %q = %q, want %q", tt.m.Parameters(), got, tt.want)
		}
	}
}

func BenchmarkMapping(b *testing.B) {
	for name, m := range mappings(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			number := int64(0)
			for b.Loop() {
				number = number%m.Last() + 1
				m.Key(number, "")
			}
		})
	}
}
