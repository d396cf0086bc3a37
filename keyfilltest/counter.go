package keyfilltest

import (
	"context"
	"sync"

	"github.com/keyfill/keyfill/keysource"
)

// Counter is a [keysource.Reserver] without a database, for
// [keyfill.Options].Reservers: its integers count from 1. It is safe for
// concurrent use; the zero value is ready.
type Counter struct {
	mu   sync.Mutex
	used int64
}

// Reserve returns the next n integers. It never fails.
func (c *Counter) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used += n
	return keysource.Reservation{First: c.used - n + 1}, nil
}

// Advance leaves out the integers below to. It never fails.
func (c *Counter) Advance(_ context.Context, to int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = max(c.used, to-1)
	return nil
}
