package testdb

import "slices"

// Durable returns the engine with servers that flush every commit to the disk
// before they confirm it, as the servers of users do, for tests that measure time. Where the
// environment names a server, see [Server.Need], that one is as it is.
func (e *Engine) Durable() *Engine { return e.With(e.durable...) }

// Forgetful returns the engine with servers that may lose what was committed when they
// are killed, for tests of very many statements that kill none. Where the environment
// names a server, see [Server.Need], that one is as it is.
func (e *Engine) Forgetful() *Engine { return e.With(e.forgets...) }

// With returns the engine with servers that have more options on their command line.
// Where the environment names a server, see [Server.Need], that one is as it is.
func (e *Engine) With(options ...string) *Engine {
	other := *e
	other.serve = func(l *local) []string {
		// The last one of a setting counts.
		return slices.Concat(e.serve(l), options)
	}
	return &other
}
