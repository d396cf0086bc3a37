package stores_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	_ "github.com/keyfill/keyfill/keyfilletcd"
	_ "github.com/keyfill/keyfill/keyfillredis"
)

// TestMain runs the tests, or one of the processes that they start.
func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(do(text))
	}
	harness.Main(m)
}
