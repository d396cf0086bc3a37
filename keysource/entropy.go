package keysource

import (
	"crypto/rand"
	"fmt"
	"io"
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
