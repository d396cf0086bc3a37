// Package again has tests that end their program.
package again

import (
	"os"
	"testing"
)

func TestFails(t *testing.T) { t.Error("it fails") }

func TestParallel(t *testing.T) {
	t.Parallel()
	t.Run("sub", func(*testing.T) {})
}

func TestPasses(*testing.T) {}

func TestExits(*testing.T) { os.Exit(3) }

func TestPanics(*testing.T) { panic("it panics") }

func TestSkips(t *testing.T) { t.Skip("it skips") }

func TestLeftOut(t *testing.T) { t.Error("it is left out") }

func TestLast(*testing.T) {}
