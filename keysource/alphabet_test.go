package keysource_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// TestAlphabets: over alphabets of every size, the texts of the longest keys that
// an int64 can count are read back as the numbers that they were written for.
func TestAlphabets(t *testing.T) {
	const all = keysource.AlphabetBase62 + "-_"
	r := rand.New(rand.NewPCG(1, 2))
	for size := 2; size <= len(all); size++ {
		length := 1
		for n := int64(size); n <= math.MaxInt64/int64(size); n *= int64(size) {
			length++
		}
		for _, length := range []int{1, max(1, length/2), length} {
			c, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: length, Alphabet: all[:size]})
			if err != nil {
				t.Fatal(err)
			}
			numbers := []int64{1, 2, c.Last() - 1, c.Last()}
			for range 200 {
				numbers = append(numbers, 1+r.Int64N(c.Last()))
			}
			for _, number := range numbers {
				if number < 1 {
					continue
				}
				key := c.Key(number, "").(string)
				if got, err := c.Number(key); len(key) != length || got != number || err != nil {
					t.Fatalf("%d of %d characters: number %d has key %q, which is of number %d, %v", length, size, number, key, got, err)
				}
			}
		}
	}
}
