package keysource

import (
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// entropy is where random bits come from; a nil reader is crypto/rand.
type entropy struct{ r io.Reader }

// fill fills b, or returns an error that wraps [ErrEntropy]; b may then hold
// anything and must not be used.
//
// b does not escape, so that it may live on the caller's stack: rand.Read is
// written for that, and a reader of the caller's gets a copy.
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
// takes for as many. The numbers that a reader has seen do not let it compute the others.
//
// Each number is handed out once:
//
//   - A [words] belongs to one goroutine between get and put. One that is not
//     put back, because its goroutine ended, is garbage with all its numbers.
//   - A number that is handed out is overwritten with zero before the next one
//     is.
//   - Numbers are available once all of a [words] are made.
//   - Numbers are thrown away when they are a millisecond old.
//
// The last limit serves processes that are copied while they run, as when the snapshot of
// a virtual machine is started twice. The kernel gives each copy other random bytes, but
// the numbers that were made ahead are the same in each. The zero value is ready.
type readAhead struct{ pool sync.Pool }

// words are random numbers of 64 bits.
type words struct {
	numbers [chunk]uint64
	seed    [32]byte
	maker   mathrand.ChaCha8 // has a new seed each time
	used    int              // how many have been handed out
	made    int64            // when they were made, in ticks
	texts   texts            // of the keys that were made with them one by one
}

// wordSize is the number of bytes of a word that a reader of the caller's gives.
const wordSize = 8

// maxAge is the age of words in ticks at which they are thrown away.
const maxAge = ticksPerMilli

// get returns words for a caller whose clock reads now.
func (a *readAhead) get(now int64) *words {
	w, ok := a.pool.Get().(*words)
	if !ok {
		w = &words{used: chunk}
	}
	if age := now - w.made; age < 0 || age >= maxAge {
		w.forget()
		w.made = now
	}
	return w
}

// put gives words back, after which the caller must not use them.
func (a *readAhead) put(w *words) { a.pool.Put(w) }

// next hands out one number.
func (w *words) next() uint64 {
	if w.used == chunk {
		w.make()
	}
	number := w.numbers[w.used]
	w.numbers[w.used] = 0
	w.used++
	return number
}

// some hands out at least one number and at most n. The caller overwrites them with
// zero when it has used them.
func (w *words) some(n int) []uint64 {
	if w.used == chunk {
		w.make()
	}
	first := w.used
	w.used = min(first+n, chunk)
	return w.numbers[first:w.used]
}

// make makes new numbers. If it panics, no number is left by the count used.
func (w *words) make() {
	_, _ = rand.Read(w.seed[:]) // never fails, as above
	w.maker.Seed(w.seed)
	for i := range w.numbers {
		w.numbers[i] = w.maker.Uint64()
	}
	clear(w.seed[:])
	w.maker = mathrand.ChaCha8{}
	w.used = 0
}

// forget throws the numbers away.
func (w *words) forget() {
	clear(w.numbers[:])
	w.used = chunk
}

// texts makes texts of keys one by one. Consecutive texts share one buffer, which stays
// allocated while any of them is in use.
type texts struct{ shared strings.Builder }

// textsTogether is how many texts share their characters.
const textsTogether = 8

// next returns the text of a key.
func (t *texts) next(l dialect.Layout, key [16]byte) string {
	var characters [36]byte
	text := l.AppendText(characters[:0], key)
	if t.shared.Len()+len(text) > t.shared.Cap() {
		t.shared.Reset()
		t.shared.Grow(textsTogether * len(text))
	}
	first := t.shared.Len()
	t.shared.Write(text)
	return t.shared.String()[first:]
}
