package counter_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/keys/counter"
)

// TestCountersOfTenants: the states of tenants do not grow for ever.
func TestCountersOfTenants(t *testing.T) {
	for _, tt := range []struct{ tenants, least, most int }{{100, 100, 100}, {4096, 4096, 4096}, {50_000, 3072, 4096}} {
		n, err := counter.KeptCounters(tt.tenants)
		if err != nil {
			t.Fatal(err)
		}
		if n < tt.least || n > tt.most {
			t.Errorf("%d of %d tenants are kept, want %d to %d", n, tt.tenants, tt.least, tt.most)
		}
	}
}
