package keysource

import "errors"

// Errors about the request. They say that the caller asked for what the source
// cannot give; asking again does not help.
var (
	// ErrCount is returned when a request asks for fewer than one key.
	ErrCount = errors.New("keysource: a request needs at least one key")

	// ErrLayout is returned when the source has no keys of the requested
	// layout.
	ErrLayout = errors.New("keysource: no such layout")
)

// Errors about what a source draws from. No key of the request has been handed
// out.
var (
	// ErrEntropy is returned when [Env].Rand fails or ends early. It wraps the
	// reader's own error.
	ErrEntropy = errors.New("keysource: entropy failed")

	// ErrClock is returned when the time of a key does not fit its 48 bits of
	// milliseconds: the clock shows a time before the epoch or after the last
	// one that can be written.
	ErrClock = errors.New("keysource: clock out of range")
)

// ErrNotKey is returned when a text is in none of the forms that [Inspect]
// reads.
var ErrNotKey = errors.New("keysource: not a UUID, a ULID, 32 hexadecimal digits or a 64-bit integer")
