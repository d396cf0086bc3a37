package testdb

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Moved returns the engine with servers whose clock a test moves while they run: see
// [Server.MoveClock]. The library libfaketime (Debian's package libfaketime) replaces the
// functions of libc that return the time. So it does not work for a server that is written
// in Go, nor for Redis, whose allocator asks for the time before the library is ready. The
// monotonic clock, by which a server measures how long it waits, is left alone. If the
// library is not installed, the server's programs count as missing.
func (e *Engine) Moved() *Engine {
	other := *e
	other.files.find = func() (programs, error) {
		found, err := e.files.find()
		if err != nil {
			return nil, err
		}
		if found["env"], err = findProgram("env"); err == nil {
			found[fakeTime], err = findLibrary(fakeTime)
		}
		return found, err
	}
	other.serve = func(l *local) []string {
		return append([]string{
			l.programs["env"], "LD_PRELOAD=" + l.programs[fakeTime],
			"FAKETIME_TIMESTAMP_FILE=" + clockPath(l),
			"FAKETIME_DONT_FAKE_MONOTONIC=1",
			// libfaketime reads the file with the clock's offset again after each second of
			// real time.
			"FAKETIME_CACHE_DURATION=1",
		}, e.serve(l)...)
	}
	other.killed = removeShared
	configure := e.files.configure
	other.files.configure = func(l *local) error {
		if configure != nil {
			if err := configure(l); err != nil {
				return err
			}
		}
		if _, err := os.Stat(clockPath(l)); err == nil {
			return nil // the file exists: a restart does not change the clock
		}
		return moveClock(l, 0)
	}
	return &other
}

// fakeTime is the file of the library libfaketime, in its variant for programs with
// threads.
const fakeTime = "libfaketimeMT.so.1"

// clockPath returns the file that says by how much the clock is moved.
func clockPath(l *local) string { return filepath.Join(l.folder, "clock") }

func findProgram(name string) (string, error) {
	found, err := findEach(name)
	return found[name], err
}

// findLibrary finds the library where Debian and other systems have it.
func findLibrary(name string) (string, error) {
	for _, pattern := range []string{"/usr/lib/*/faketime/", "/usr/lib*/faketime/", "/usr/local/lib/faketime/"} {
		if found, _ := filepath.Glob(pattern + name); found != nil { // an error is only possible for a malformed pattern
			return found[0], nil
		}
	}
	return "", &missingError{[]string{name + " (Debian's package libfaketime)"}}
}

// moveClock writes by how much the clock of a server is moved, in whole seconds.
func moveClock(l *local, by time.Duration) error {
	text := fmt.Sprintf("%+d\n", int64(math.Round(by.Seconds())))
	// The rename ensures that the server never reads half of a file.
	if err := os.WriteFile(clockPath(l)+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(clockPath(l)+".new", clockPath(l))
}

// MoveClock sets the clock of a server whose engine is [Engine.Moved] ahead of the
// machine's by a duration, which may be negative. The server shows the new time within
// two seconds.
func (s *Server) MoveClock(t testing.TB, by time.Duration) {
	t.Helper()
	l := s.mustBeLocal(t)
	if l.programs[fakeTime] == "" {
		t.Fatalf("testdb: %s: the clock of this server does not move: start it with Moved()", s.engine.name)
	}
	if err := moveClock(l, by); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// removeShared removes what the library leaves in shared memory if its process is ended by
// SIGKILL.
func removeShared(pid int) {
	for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
		_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, pid))) // mostly gone
	}
}
