package keysource_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// articleKey is the procedure of the article: the remainder by Schrage's method,
// and what is added where that is not positive.
func articleKey(seed, multiplier, modulus, added int64) int64 {
	q, r := modulus/multiplier, modulus%multiplier
	key := multiplier*(seed%q) - r*(seed/q)
	if key <= 0 {
		key += added
	}
	return key
}

// The constants of the article, its misprint among them.
const (
	parkMiller         = 16807
	parkMillerModulus  = 2_147_483_647
	parkMillerMisprint = 2_147_483_547
)

// TestPseudorandomReducedPeriod goes through all seeds of a smaller modulus, by
// the same code: each key comes once, and with the misprint some come twice.
func TestPseudorandomReducedPeriod(t *testing.T) {
	const multiplier, modulus = 677, 1_000_003 // a prime
	p := keysource.NewPseudorandomOf(multiplier, modulus)
	if p.Last() != modulus-1 {
		t.Fatalf("%d numbers", p.Last())
	}
	seen := make([]bool, modulus)
	misprinted := map[int64]bool{}
	for seed := int64(1); seed < modulus; seed++ {
		key := p.Key(seed, "").(int64)
		if key < 1 || key >= modulus || seen[key] {
			t.Fatalf("seed %d gives key %d, out of range or again", seed, key)
		}
		seen[key] = true
		if number, err := p.Number(key); err != nil || number != seed {
			t.Fatalf("key %d is of number %d, %v, want %d", key, number, err, seed)
		}
		if want := articleKey(seed, multiplier, modulus, modulus); key != want {
			t.Fatalf("seed %d gives key %d, by the article's formula %d", seed, key, want)
		}
		misprinted[articleKey(seed, multiplier, modulus, modulus-100)] = true
	}
	if twice := modulus - 1 - len(misprinted); twice < 1000 {
		t.Errorf("with the misprint only %d keys come twice", twice)
	} else {
		t.Logf("with the misprint %d of %d keys come twice", twice, modulus-1)
	}
}

// TestPseudorandomTenMillion: the real modulus, by the article's formula and
// without a repeat.
func TestPseudorandomTenMillion(t *testing.T) {
	total := 10 * int64(lawKeys(t))
	p := keysource.NewPseudorandom()
	seen := make([]uint64, 1<<31/64)
	for seed := int64(1); seed <= total; seed++ {
		key := p.Key(seed, "").(int64)
		if seen[key>>6]>>(key&63)&1 == 1 {
			t.Fatalf("seed %d gives key %d again", seed, key)
		}
		seen[key>>6] |= 1 << (key & 63)
		if want := articleKey(seed, parkMiller, parkMillerModulus, parkMillerModulus); key != want {
			t.Fatalf("seed %d gives key %d, by the article's formula %d", seed, key, want)
		}
	}
}

// TestPseudorandomMisprint: with the constant as the article prints it two seeds have one
// key. The key that is moved down by 100 is the other seed's, if the other is not moved.
func TestPseudorandomMisprint(t *testing.T) {
	p := keysource.NewPseudorandom()
	misprinted := func(seed int64) int64 {
		return articleKey(seed, parkMiller, parkMillerModulus, parkMillerMisprint)
	}
	const seeds = 1_000_000
	var twice, first, second int64
	r := rand.New(rand.NewPCG(7, 8))
	for range seeds {
		seed := 1 + r.Int64N(p.Last())
		key := misprinted(seed)
		if key == p.Key(seed, "").(int64) {
			continue
		}
		other, err := p.Number(key)
		if err != nil {
			t.Fatal(err)
		}
		if misprinted(other) == key {
			twice++
			first, second = seed, other
		}
	}
	// Of the 2,147,483,646 seeds 11,796,720 have a key that another one has too,
	// counted once by a bit for each key: 5,493 of a million.
	if twice < 5000 || twice > 6000 || first == second || misprinted(first) != misprinted(second) {
		t.Fatalf("%d of %d keys are of two seeds, the last %d and %d", twice, seeds, first, second)
	}
	t.Logf("%d of %d seeds have the key of another one, such as %d that of %d", twice, seeds, first, second)
}

func TestPseudorandomEnds(t *testing.T) {
	p := keysource.NewPseudorandom()
	for _, tt := range []struct{ number, key int64 }{
		{1, 16807}, {2, 33614}, {16807, 282475249}, // the start of the generator's own series from 1
		{282475249, 1622650073}, {parkMillerModulus - 1, parkMillerModulus - 16807},
	} {
		if key := p.Key(tt.number, ""); key != tt.key {
			t.Errorf("Key(%d) = %v, want %d", tt.number, key, tt.key)
		}
		if number, err := p.Number(tt.key); err != nil || number != tt.number {
			t.Errorf("Number(%d) = %d, %v, want %d", tt.key, number, err, tt.number)
		}
	}
	if key := p.Key(2, str); key != "33614" {
		t.Errorf("Key(2, string) = %v", key)
	}
	// "Random Number Generators: Good Ones Are Hard to Find", page 1195: from 1,
	// the 10,001st of the series is 1043618065.
	z := int64(1)
	for range 10_000 {
		z = p.Key(z, "").(int64)
	}
	if z != 1043618065 {
		t.Errorf("after 10,000 steps from 1: %d", z)
	}
	for _, key := range []int64{-1, 0, parkMillerModulus} {
		if _, err := p.Number(key); !errors.Is(err, keysource.ErrOtherKey) {
			t.Errorf("Number(%d): %v", key, err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		number := 1 + r.Int64N(parkMillerModulus-1)
		if got, err := p.Number(p.Key(number, "").(int64)); err != nil || got != number {
			t.Fatalf("number %d comes back as %d, %v", number, got, err)
		}
	}
}
