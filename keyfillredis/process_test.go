package keyfillredis_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// stop stops a process, as a pause of its machine does.
func stop(t *testing.T, d *drawing) {
	t.Helper()
	if err := d.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// resume lets a process go on.
func resume(t *testing.T, d *drawing) {
	t.Helper()
	if err := d.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// ofKind returns the state whose series a source of newSource has.
func ofKind(kind string) keysource.State {
	st := state(kind)
	if kind == "leased" {
		st.Max = 1024
	}
	return st
}

// sizeOf returns how many integers these series have.
func sizeOf(kind string) int64 {
	if kind == "leased" {
		return 1
	}
	return 1000
}

// takeOver takes over a series when its lease has run out.
func takeOver(t *testing.T, s keysource.SeriesStore) keysource.Series {
	t.Helper()
	for {
		taken, err := s.TakeOver(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if taken.First > 0 {
			return taken
		}
		time.Sleep(50 * time.Millisecond)
	}
}
