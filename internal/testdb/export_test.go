package testdb

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// Ends waits until the server has ended, and reports whether it has. Its process
// is gone a moment before that is known here.
func (s *Server) Ends(timeout time.Duration) bool { return s.local.process.wait(timeout) }

// Folder returns where all the server's files are.
func (s *Server) Folder() string { return s.local.folder }

// Answers says why the server does not take connections by TCP.
func (s *Server) Answers() error {
	return s.engine.answers("tcp", s.Addr(), s.engine.admin)
}

// StartsElsewhere returns an error unless a second server at the same port says that the
// port is taken.
func (s *Server) StartsElsewhere(t testing.TB) error {
	other, err := emptyLocal(s.engine)
	if err != nil {
		return err
	}
	defer other.discard()
	other.port = s.local.port
	if err := other.start(); !errors.Is(err, errPortTaken) {
		return fmt.Errorf("at the port of another: %v, want %v", err, errPortTaken)
	}
	return nil
}

// StillRuns is what a test asks at its end.
func (s *Server) StillRuns(t testing.TB) bool { return s.stillRuns(t) }

// NewFolder makes the folder of a server, and starts no server.
func NewFolder() error {
	owner, err := unprivileged()
	if err == nil {
		_, _, err = newFolder(owner)
	}
	return err
}

// Name returns the engine's name as messages spell it.
func (e *Engine) Name() string { return e.name }

// Missing returns an engine that is not installed.
func Missing() *Engine {
	e := MariaDB()
	e.files.find = func() (programs, error) { return findEach("no-such-program") }
	return e
}

// Broken returns an engine whose installation fails.
func Broken() *Engine {
	e := MariaDB()
	e.files.install = func(*local) []string { return []string{"/bin/sh", "-c", "echo Disk full.; exit 1"} }
	return e
}

// Discard ends a server as [Shared.Main] does after the tests.
func (s *Shared[S]) Discard() { s.discard() }

// Start starts a server as the first [Shared.Need] does.
func (s *Shared[S]) Start() error { return s.begin() }
