package counter

import (
	"context"
	"strconv"

	"github.com/keyfill/keyfill/internal/keys/numbering"
)

// KeptCounters returns how many counters of as many tenants are kept.
func KeptCounters(tenants int) (int, error) {
	set := NewCounters()
	for i := range tenants {
		_, err := set.Get(context.Background(), strconv.Itoa(i), func() (*Counter, error) {
			return &Counter{OfValue: true, Numbers: new(numbering.JoinedRow)}, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(set.All), nil
}
