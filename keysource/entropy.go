package keysource

import (
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// entropy reads random bytes from r, or from crypto/rand if r is nil.
type entropy struct{ r io.Reader }

// fill fills b with random bytes. If it returns an error, which wraps [ErrEntropy], b
// must not be used.
//
// b does not escape to the heap, so the caller can keep it on its stack: rand.Read is
// written for that, and a reader that the caller gave fills a copy.
func (e entropy) fill(b []byte) error {
	if e.r == nil {
		_, _ = rand.Read(b) // never fails (Go 1.24): it ends the process instead
		return nil
	}
	own := make([]byte, len(b))
	if _, err := io.ReadFull(e.r, own); err != nil {
		return anchor.Endf("%w: %w", ErrEntropy, err)
	}
	copy(b, own)
	return nil
}

// readAhead keeps random numbers that were made ahead, so that not each key pays for a
// call of crypto/rand. ChaCha8 makes them of 32 new bytes of crypto/rand each time (C2SP,
// chacha8rand; the generator of Go's runtime), in a fifth of the time that crypto/rand
// takes for as many. The numbers that an observer has seen do not let it compute the
// others.
//
// Each number is handed out once:
//
//   - A [words] belongs to one goroutine between get and put. If a goroutine ends
//     without put, its words are garbage-collected with all their numbers.
//   - A number that is handed out is overwritten with zero before the next
//     number is handed out.
//   - No number of a [words] is handed out before all of them are made.
//   - Numbers are thrown away when they are a millisecond old.
//
// The last rule is for processes that are copied while they run, as when the snapshot
// of a virtual machine is started twice. The kernel gives each copy other random bytes,
// but the numbers that were made ahead are the same in each. The zero value is ready
// for use.
type readAhead struct{ pool sync.Pool }

// words holds random numbers of 64 bits, which are handed out one after the other.
type words struct {
	numbers [boxing.Chunk]uint64
	seed    [32]byte
	maker   mathrand.ChaCha8 // gets a new seed each time
	used    int              // how many numbers have been handed out
	made    int64            // when the numbers were made, in ticks
	texts   texts            // buffer for the texts of keys that are made one by one
}

// wordSize is how many bytes of a reader that the caller gave make one random number.
const wordSize = 8

// maxAge is the age in ticks at which numbers are thrown away: one millisecond.
const maxAge = keyclock.TicksPerMilli

// get returns words whose numbers are less than maxAge old when the caller's clock
// reads now.
func (a *readAhead) get(now int64) *words {
	w, ok := a.pool.Get().(*words)
	if !ok {
		w = &words{used: boxing.Chunk}
	}
	if age := now - w.made; age < 0 || age >= maxAge {
		w.forget()
		w.made = now
	}
	return w
}

// put returns w to the pool, after which the caller must not use it.
func (a *readAhead) put(w *words) { a.pool.Put(w) }

// next returns one number, and overwrites its copy in w with zero.
func (w *words) next() uint64 {
	if w.used == boxing.Chunk {
		w.make()
	}
	number := w.numbers[w.used]
	w.numbers[w.used] = 0
	w.used++
	return number
}

// some returns at least one number and at most n. The caller overwrites them with zero
// after use.
func (w *words) some(n int) []uint64 {
	if w.used == boxing.Chunk {
		w.make()
	}
	first := w.used
	w.used = min(first+n, boxing.Chunk)
	return w.numbers[first:w.used]
}

// make fills w with new numbers. If it panics, used still says that no number is left.
func (w *words) make() {
	_, _ = rand.Read(w.seed[:]) // never fails (Go 1.24)
	w.maker.Seed(w.seed)
	for i := range w.numbers {
		w.numbers[i] = w.maker.Uint64()
	}
	clear(w.seed[:])
	w.maker = mathrand.ChaCha8{}
	w.used = 0
}

// forget overwrites all numbers with zero.
func (w *words) forget() {
	clear(w.numbers[:])
	w.used = boxing.Chunk
}

// texts makes the texts of keys, one at a time. Consecutive texts share one buffer,
// which stays allocated while any of them is in use.
type texts struct{ shared strings.Builder }

// textsTogether is how many texts share one buffer.
const textsTogether = 8

// next returns the text of a key as a string.
func (t *texts) next(text []byte) string {
	if t.shared.Len()+len(text) > t.shared.Cap() {
		t.shared.Reset()
		t.shared.Grow(textsTogether * len(text))
	}
	first := t.shared.Len()
	t.shared.Write(text)
	return t.shared.String()[first:]
}
