package faults_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestMain runs the tests, or one of the processes that they start.
func TestMain(m *testing.M) {
	registerBalanced()
	registerMovedNow()
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(do(text))
	}
	harness.Main(m)
	cluster.End()
}
