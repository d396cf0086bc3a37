package testdb

import "slices"

// Durable returns the engine with servers that flush every commit to the disk before they
// confirm it, as the servers of users do, for tests that measure time. A server that the
// environment names (see [Server.Need]) stays as it is.
func (e *Engine) Durable() *Engine { return e.With(e.durable...) }

// Forgetful returns the engine with servers that may lose what was committed when they are
// killed, for tests of very many statements that kill none. A server that the environment
// names (see [Server.Need]) stays as it is.
func (e *Engine) Forgetful() *Engine { return e.With(e.forgets...) }

// With returns the engine with servers that have more options on their command line. A
// server that the environment names (see [Server.Need]) stays as it is.
func (e *Engine) With(options ...string) *Engine {
	other := *e
	other.serve = func(l *local) []string {
		// If an option is given twice, the last one counts.
		return slices.Concat(e.serve(l), options)
	}
	return &other
}
