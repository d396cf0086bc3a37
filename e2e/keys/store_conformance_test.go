package keys_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keysource"
)

// TestMemoryStore: the store in memory, with which tests of policies count, does what
// every store without SQL has to do.
func TestMemoryStore(t *testing.T) {
	t.Parallel()
	plain := harness.NewPlain()
	storetest.Run(t, storetest.Options{
		Open:  func(t testing.TB) keysource.Store { return plain.Open() },
		Lease: 200 * time.Millisecond,
	})
}
