// Package usage defines the error for a command line that is not understood.
package usage

import "fmt"

// Error is the error for a command line that is not understood.
type Error struct{ error }

// Wrap returns err as an [Error].
func Wrap(err error) error { return &Error{err} }

// Errorf returns an [Error] with a text that is formatted as by fmt.Errorf.
func Errorf(format string, args ...any) error {
	return Wrap(fmt.Errorf(format, args...))
}
