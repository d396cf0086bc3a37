package keysource

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
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
		return fmt.Errorf("%w: %w", ErrEntropy, err)
	}
	copy(b, own)
	return nil
}

// readAhead keeps bytes of crypto/rand that were read ahead, so that not each
// key pays for a call. Each byte is handed out once:
//
//   - A [words] belongs to one goroutine between get and put. One that is not
//     put back, because its goroutine ended, is garbage with all its bytes.
//   - A byte that is handed out is overwritten with zero before the next one is.
//   - Only a reading that has filled all the bytes makes them available.
//   - Bytes are thrown away when they are a millisecond old.
//
// The last is for processes of which copies are made while they run, as by the
// snapshot of a virtual machine that is started twice. The kernel gives each
// copy other random bytes, but what the process had read ahead is the same in
// each. The zero value is ready.
type readAhead struct{ pool sync.Pool }

// words are random numbers of 64 bits.
type words struct {
	bytes [chunk * wordSize]byte
	used  int   // how many bytes have been handed out
	read  int64 // when they were read, in ticks
}

// wordSize is the number of bytes of a word.
const wordSize = 8

// maxAge is the age of words in ticks at which they are thrown away.
const maxAge = ticksPerMilli

// get returns words for a caller whose clock reads now.
func (a *readAhead) get(now int64) *words {
	w, ok := a.pool.Get().(*words)
	if !ok {
		w = &words{used: len(words{}.bytes)}
	}
	if age := now - w.read; age < 0 || age >= maxAge {
		w.used, w.read = len(w.bytes), now
	}
	return w
}

// put gives words back, after which the caller must not use them.
func (a *readAhead) put(w *words) { a.pool.Put(w) }

// next hands out one number.
func (w *words) next() uint64 {
	if w.used == len(w.bytes) {
		_, _ = rand.Read(w.bytes[:]) // never fails, as above; if it panics, used says that there are none
		w.used = 0
	}
	b := w.bytes[w.used:][:wordSize]
	word := binary.BigEndian.Uint64(b)
	clear(b)
	w.used += wordSize
	return word
}
