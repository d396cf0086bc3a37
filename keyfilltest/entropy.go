package keyfilltest

import (
	"encoding/binary"
	"sync"
)

// Entropy is an io.Reader of 64-bit big-endian numbers that count from 1. They are the same
// in every run, and no number occurs twice in one run. Entropy is safe for concurrent use;
// the zero value is ready.
type Entropy struct {
	mu   sync.Mutex
	n    uint64
	rest []byte
}

// Read fills b and never fails.
func (e *Entropy) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at := 0; at < len(b); {
		if len(e.rest) == 0 {
			e.n++
			e.rest = binary.BigEndian.AppendUint64(e.rest, e.n)
		}
		n := copy(b[at:], e.rest)
		at += n
		e.rest = e.rest[n:]
	}
	return len(b), nil
}
