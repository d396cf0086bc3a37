package keysource

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
)

// UUIDv4 makes random UUIDs of version 4: 122 random bits around a version and
// a variant (RFC 9562, section 5.4), as github.com/google/uuid makes them.
//
//	xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx    y: 8, 9, a or b
//
// They have no order: each row lands on another page of the index.
type UUIDv4 struct {
	rand io.Reader
}

// NewUUIDv4 returns a source of UUIDs of version 4. It needs no clock.
func NewUUIDv4(env Env) *UUIDv4 {
	if env.Rand == nil {
		env.Rand = rand.Reader
	}
	return &UUIDv4{rand: env.Rand}
}

// Next returns r.N keys: lower-case text of 36 characters, or 16 bytes in RFC
// order. With nothing to sort by, [dialect.SequentialAtEnd] permutes nothing:
// the text is sent as it is and stays a UUID of version 4. It returns
// [ErrCount] or [ErrEntropy].
func (s *UUIDv4) Next(_ context.Context, r Request) ([]driver.Value, error) {
	if r.N < 1 {
		return nil, ErrCount
	}
	layout := r.Layout
	if layout == dialect.SequentialAtEnd {
		layout = dialect.SequentialAsString
	}
	keys := make([]driver.Value, r.N)
	for i := range keys {
		u, err := uuid.NewRandomFromReader(s.rand)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrEntropy, err)
		}
		keys[i] = layout.Value(u)
	}
	return keys, nil
}

// Traits says that nothing but uniqueness is promised.
func (s *UUIDv4) Traits() Traits { return Traits{} }
