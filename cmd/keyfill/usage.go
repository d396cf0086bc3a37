package main

import "fmt"

// usageError is a command line that is not understood.
type usageError struct{ error }

// wrapUsage makes an error one of the command line.
func wrapUsage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error {
	return wrapUsage(fmt.Errorf(format, args...))
}
