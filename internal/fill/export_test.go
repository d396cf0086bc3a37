package fill

import (
	"context"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// Unnumbered opens unnumbered to tests.
func Unnumbered(d *dialect.Dialect, answers ...any) rewrite.Reason { return unnumbered(d, answers) }

// KeptCounters returns how many counters of as many tenants are kept.
func KeptCounters(tenants int) (int, error) {
	set := newCounterSet()
	for i := range tenants {
		_, err := set.get(context.Background(), strconv.Itoa(i), func() (*counter, error) {
			return &counter{ofValue: true, numbers: new(joinedRow)}, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(set.all), nil
}
