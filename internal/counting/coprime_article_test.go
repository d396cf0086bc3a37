package counting_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

// base62 reads a key as a number, another way than the code.
func base62(key string) int64 {
	var n int64
	for _, c := range key {
		n = n*62 + int64(strings.IndexRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c))
	}
	return n
}

// residueRow is the table of the article's program: one row with the last key as
// a number.
type residueRow struct {
	mu   sync.Mutex
	last int64
	c    *keysource.Coprime
}

// article is the program of the article: it reads the last key, makes some more
// and writes the last one back, in one serializable transaction.
func (r *residueRow) article(n int, k, size int64) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []int64
	for range n {
		r.last = (r.last + k) % size
		keys = append(keys, r.last)
	}
	return keys
}

// Reserve reserves as a store with a Codec does.
func (r *residueRow) Reserve(_ context.Context, n, seen int64) (keysource.Reservation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.c.NextOf(r.last)
	left := r.c.Last() - next + 1
	if next >= seen && left == 0 {
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	if next >= seen {
		r.last = r.c.Residue(next + min(n, left))
	}
	return keysource.Reservation{First: next}, nil
}

func (r *residueRow) Advance(context.Context, int64) error { return errors.ErrUnsupported }

// TestCoprimeBesideArticle: the article's program and a Sequence use one row at
// the same time, until all keys but the one that is left out are used; none comes
// twice.
func TestCoprimeBesideArticle(t *testing.T) {
	const n, start = 238_328, 1234
	c := newCoprime(t, keysource.CoprimeOptions{Length: 3, Alphabet: keysource.AlphabetBase62, K: articleK, Start: start, Residues: true})
	row := &residueRow{last: start, c: c}
	s, err := counting.NewSequence(counting.SequenceOptions{Reserver: row, Max: c.Last(), Block: 50}, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	seen := make([]bool, n)
	note := func(key int64) {
		if seen[key] || key == start {
			t.Fatalf("key %d again", key)
		}
		seen[key] = true
	}
	var ours, theirs int
	for r := rand.New(rand.NewPCG(4, 4)); ; {
		if total := ours + theirs; total < n*3/4 { // what is in hand is not lost
			for _, key := range row.article(1+r.IntN(20), articleK, n) {
				note(key)
				theirs++
			}
		}
		rows := 1 + r.IntN(20)
		if ours+theirs > n*3/4 {
			rows = 1
		}
		first, err := s.Reserve(t.Context(), int64(rows))
		if errors.Is(err, keysource.ErrExhausted) && rows == 1 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		keys, err := mapping.Keys(c, first, rows, str)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			note(base62(key.(string)))
			ours++
		}
	}
	if ours+theirs < n*9/10 || theirs < n/4 {
		t.Errorf("%d keys of the source and %d of the program, of %d", ours, theirs, n)
	}
	t.Logf("%d keys of the source and %d of the program, of %d", ours, theirs, n)
}
