package keysource_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// articleK is the k that the article on coprime stepping recommends for n = 62⁶,
// which is less: it is reduced.
const articleK = 67 * 71 * 73 * 79 * 83 * 89

func newCoprime(t testing.TB, o keysource.CoprimeOptions) *keysource.Coprime {
	t.Helper()
	c, err := keysource.NewCoprime(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCoprimeArticle is what the article says: n = 5 and k = 3 give 3, 1, 4, 2,
// 0 from 0 on, and its k is right for six characters.
func TestCoprimeArticle(t *testing.T) {
	c := newCoprime(t, keysource.CoprimeOptions{Length: 1, Alphabet: "01234", K: 3})
	for i, want := range []string{"3", "1", "4", "2", "0"} {
		if key := c.Key(int64(i+1), str); key != want {
			t.Errorf("key %d is %v, want %s", i+1, key, want)
		}
	}
	c = newCoprime(t, keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK})
	const n = 56_800_235_584
	if c.Last() != n || c.Step(6) != articleK-3*n {
		t.Errorf("%d keys in steps of %d", c.Last(), c.Step(6))
	}
	// The article's own loop.
	last := int64(0)
	for number := int64(1); number <= 100_000; number++ {
		last = (last + articleK) % n
		if key := c.Key(number, str).(string); base62(key) != last {
			t.Fatalf("key %d is %s, of the number %d, want %d", number, key, base62(key), last)
		}
		if got := c.NextOf(last); got != number+1 {
			t.Fatalf("after the key %d comes number %d, want %d", last, got, number+1)
		}
		if got := c.Residue(number + 1); got != last {
			t.Fatalf("before number %d was the key %d, want %d", number+1, got, last)
		}
	}
	reduced := newCoprime(t, keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK - 3*n})
	if reduced.Parameters() != c.Parameters() {
		t.Errorf("reduced, the parameters are %q, want %q", reduced.Parameters(), c.Parameters())
	}
}

// base62 reads a key as a number, another way than the code.
func base62(key string) int64 {
	var n int64
	for _, c := range key {
		n = n*62 + int64(strings.IndexRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c))
	}
	return n
}

// TestCoprimeCase finds the first two keys of the article's alphabet and k that
// are equal where a column does not compare by case.
func TestCoprimeCase(t *testing.T) {
	const length, n = 6, 56_800_235_584
	c := newCoprime(t, keysource.CoprimeOptions{Length: length, Alphabet: keysource.AlphabetBase62, K: articleK})
	if !c.CaseMatters() {
		t.Error("case does not matter")
	}
	// Such keys differ by 26 times a sum of powers of 62, each added, left out or
	// subtracted; and keys that differ so are as many numbers apart as that is
	// steps of k.
	inverse := keysource.Inverse(c.Step(length), n)
	var first, second int64 = 0, math.MaxInt64
	for signs := range 729 {
		var difference int64
		for i, s, weight := 0, signs, int64(26); i < length; i, s, weight = i+1, s/3, weight*62 {
			difference += int64(s%3-1) * weight
		}
		apart := keysource.MulMod((difference%n+n)%n, inverse, n)
		for a := int64(1); apart != 0 && a+apart < second && a <= 1000; a++ {
			if strings.EqualFold(c.Text(a), c.Text(a+apart)) {
				first, second = a, a+apart
			}
		}
	}
	one, other := c.Text(first), c.Text(second)
	if first != 200 || second != 42_045_358 || one != "yMcpIs" || other != "YMCPiS" {
		t.Errorf("numbers %d and %d have the keys %s and %s", first, second, one, other)
	}
	if newCoprime(t, keysource.CoprimeOptions{Length: 6}).CaseMatters() {
		t.Error("case matters in base 32")
	}
}

// TestCoprimeExhausted goes through all keys of small spaces, and on to longer
// ones: no key twice, each found again, and as many as there are.
func TestCoprimeExhausted(t *testing.T) {
	for _, o := range []keysource.CoprimeOptions{
		{Length: 3, Alphabet: keysource.AlphabetBase62},
		{Length: 3, Alphabet: keysource.AlphabetBase62, K: articleK, Start: 238_327},
		{Length: 2, Alphabet: keysource.AlphabetBase62, Grow: true},
		{Length: 2, Alphabet: keysource.AlphabetBase62, Grow: true, K: articleK, Start: 77},
		{Length: 1, Alphabet: "01", Grow: true},
		{Length: 1, Alphabet: "01"},
		{Length: 5, Alphabet: "abc", Grow: true, Start: 5},
		{Length: 3, Grow: true},
		{Length: 4, Alphabet: "-_09azAZ", Grow: true},
		{Length: 3, Alphabet: keysource.AlphabetBase62, Residues: true},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			c := newCoprime(t, o)
			size := int64(max(len(o.Alphabet), 2))
			if o.Alphabet == "" {
				size = 32
			}
			n := int64(math.Pow(float64(size), float64(o.Length)))
			want, width := n, o.Length
			switch {
			case o.Grow:
				want, width = n+n*size, o.Length+1
			case o.Residues:
				want--
			}
			if c.Last() != want || c.Width() != width {
				t.Fatalf("%d keys of %d characters, want %d of %d", c.Last(), c.Width(), want, width)
			}
			for number := int64(1); number <= want; number++ {
				key := c.Key(number, str).(string)
				length := o.Length
				if number > n {
					length++
				}
				if len(key) != length {
					t.Fatalf("number %d gives key %s, too long", number, key)
				}
				// A key that two numbers had could not lead back to both.
				if got, err := c.Number(key); err != nil || got != number {
					t.Fatalf("key %s is of number %d, %v, want %d", key, got, err, number)
				}
			}
		})
	}
}

// TestCoprimeResidues: of a table that stores the last key, what it holds after
// each of all keys leads to the next number, and it never holds again what it
// held before the first one.
func TestCoprimeResidues(t *testing.T) {
	const n, start = 3844, 17
	c := newCoprime(t, keysource.CoprimeOptions{Length: 2, Alphabet: keysource.AlphabetBase62, K: articleK, Start: start, Residues: true})
	seen := map[int64]bool{}
	for next := int64(1); next <= c.Last()+1; next++ {
		residue := c.Residue(next)
		if residue < 0 || residue >= n || seen[residue] || (next == 1) != (residue == start) {
			t.Fatalf("before number %d it holds %d", next, residue)
		}
		seen[residue] = true
		if next > 1 && base62(c.Key(next-1, str).(string)) != residue {
			t.Fatalf("after key %v it holds %d", c.Key(next-1, str), residue)
		}
		if got := c.NextOf(residue); got != next {
			t.Fatalf("%d leads to %d, want %d", residue, got, next)
		}
	}
	for _, residue := range []int64{math.MinInt64, -1, n, math.MaxInt64} {
		if next := c.NextOf(residue); next != 0 {
			t.Errorf("NextOf(%d) = %d", residue, next)
		}
	}
	for _, next := range []int64{math.MinInt64, -1, 0, n + 1, 2 * n, math.MaxInt64} {
		if c.NextOf(c.Residue(next)) == next {
			t.Errorf("number %d has a residue of its own", next)
		}
	}
	if _, err := c.Number("00"); err != nil {
		t.Error(err)
	}
	last := newCoprime(t, keysource.CoprimeOptions{Length: 2, Alphabet: keysource.AlphabetBase62, K: articleK, Start: start})
	if _, err := c.Number(last.Text(n)); !errors.Is(err, keysource.ErrOtherKey) {
		t.Errorf("the key that is left out: %v", err)
	}
}

func TestCoprimeOptions(t *testing.T) {
	const base62 = keysource.AlphabetBase62
	for _, tt := range []struct {
		name string
		o    keysource.CoprimeOptions
		text string // in the error
	}{
		{"no length", keysource.CoprimeOptions{}, "length of 0"},
		{"length below 0", keysource.CoprimeOptions{Length: -1}, "length of -1"},
		{"more than 63 bits", keysource.CoprimeOptions{Length: 11, Alphabet: base62}, "2^63-1"},
		{"far more", keysource.CoprimeOptions{Length: math.MaxInt}, "2^63-1"},
		{"no room to grow", keysource.CoprimeOptions{Length: 10, Alphabet: base62, Grow: true}, "grow"},
		{"one character", keysource.CoprimeOptions{Length: 6, Alphabet: "a"}, "at least two"},
		{"a character twice", keysource.CoprimeOptions{Length: 6, Alphabet: "abca"}, "twice"},
		{"a quote", keysource.CoprimeOptions{Length: 6, Alphabet: "abc'"}, "character 4"},
		{"a space", keysource.CoprimeOptions{Length: 6, Alphabet: "a bc"}, "character 2"},
		{"no ASCII", keysource.CoprimeOptions{Length: 6, Alphabet: "aé"}, "character 2"},
		{"k below 0", keysource.CoprimeOptions{Length: 6, K: -3}, "less than 1"},
		{"k even", keysource.CoprimeOptions{Length: 6, Alphabet: base62, K: 200}, "divisor 8"},
		{"k of 31", keysource.CoprimeOptions{Length: 6, Alphabet: base62, K: 31 * 67}, "divisor 31"},
		{"k is n", keysource.CoprimeOptions{Length: 2, Alphabet: base62, K: 62 * 62}, "divisor 3844"},
		{"start below 0", keysource.CoprimeOptions{Length: 2, Start: -1}, "start"},
		{"start is n", keysource.CoprimeOptions{Length: 2, Start: 1024}, "from 0 to 1023"},
		{"residues that grow", keysource.CoprimeOptions{Length: 2, Grow: true, Residues: true}, "cannot grow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := keysource.NewCoprime(tt.o)
			if c != nil || !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("NewCoprime = %v, %v, want %q", c, err, tt.text)
			}
		})
	}
}

// TestCoprimeParameters: they differ where keys differ, and grow changes nothing
// in the keys before.
func TestCoprimeParameters(t *testing.T) {
	base := keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK}
	c := newCoprime(t, base)
	const want = "coprime: alphabet 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ; " +
		"length 6, n 56800235584, k 32251436801, start 0; length 7, n 3521614606208, k 2176477521909, start 0"
	if got := c.Parameters(); got != want {
		t.Errorf("Parameters() = %q, want %q", got, want)
	}
	grown := base
	grown.Grow = true
	if got := newCoprime(t, grown); got.Parameters() != want || got.Key(c.Last(), str) != c.Key(c.Last(), str) {
		t.Errorf("with grow: %q", got.Parameters())
	}
	for name, change := range map[string]func(*keysource.CoprimeOptions){
		"length":   func(o *keysource.CoprimeOptions) { o.Length = 5 },
		"alphabet": func(o *keysource.CoprimeOptions) { o.Alphabet = "10" + o.Alphabet[2:] },
		"k":        func(o *keysource.CoprimeOptions) { o.K = 0 },
		"start":    func(o *keysource.CoprimeOptions) { o.Start = 1 },
	} {
		o := base
		change(&o)
		if got := newCoprime(t, o).Parameters(); got == want {
			t.Errorf("with another %s they are the same", name)
		}
	}
	long := newCoprime(t, keysource.CoprimeOptions{Length: 9, Alphabet: keysource.AlphabetBase62 + "-_"})
	if got := len(long.Parameters()); got > 1000 {
		t.Errorf("%d characters of parameters", got)
	}
}

// TestCoprimeWide: of the widest texts the arithmetic equals the one of big integers, at
// both ends and in between.
func TestCoprimeWide(t *testing.T) {
	c := newCoprime(t, keysource.CoprimeOptions{Length: 10, Alphabet: keysource.AlphabetBase62, Start: 839_299_365_868_340_223})
	n, k, start := big.NewInt(c.Last()), big.NewInt(c.Step(10)), big.NewInt(839_299_365_868_340_223)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range int64(100_000) {
		number := 1 + r.Int64N(c.Last())
		switch {
		case i < 1000:
			number = i + 1
		case i < 2000:
			number = c.Last() - i + 1000
		}
		want := new(big.Int).Mul(big.NewInt(number), k)
		want.Add(want, start).Mod(want, n)
		key := c.Key(number, str).(string)
		if base62(key) != want.Int64() {
			t.Fatalf("number %d gives %s, want %d", number, key, want)
		}
		if got, err := c.Number(key); err != nil || got != number {
			t.Fatalf("key %s is of number %d, %v, want %d", key, got, err, number)
		}
	}
}

func TestCoprimeNumberOfOthers(t *testing.T) {
	c := newCoprime(t, keysource.CoprimeOptions{Length: 6})
	for _, text := range []string{"", "abcde", "abcdefg", "ABCDEF", "abcdeu", "abcde ", "abcd\xff\xfe", "abcdé"} {
		if number, err := c.Number(text); !errors.Is(err, keysource.ErrOtherKey) {
			t.Errorf("Number(%q) = %d, %v", text, number, err)
		}
	}
}
