package counter

import (
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// TestFoundCounters: a place stays where it is while others are added, for all goroutines.
func TestFoundCounters(t *testing.T) {
	var found FoundCounters
	if found.Of(&table.Column{}) != nil {
		t.Error("a column without an ID has a place")
	}
	const columns = 1000
	var all [8][columns + 1]any
	var wg sync.WaitGroup
	for n := range all {
		wg.Go(func() {
			for id := int64(1); id <= columns; id++ {
				all[n][id] = found.Of(&table.Column{ID: id})
			}
		})
	}
	wg.Wait()
	seen := map[any]bool{}
	for id := 1; id <= columns; id++ {
		seen[all[0][id]] = true
		for n := range all {
			if all[n][id] != all[0][id] {
				t.Fatalf("column %d has two places", id)
			}
		}
	}
	if len(seen) != columns {
		t.Errorf("%d columns have %d places", columns, len(seen))
	}
	k, c, other := &table.Column{ID: columns}, new(Counter), new(Counter)
	found.Of(k).Store(c)
	if found.Drop(k, other); found.Of(k).Load() != c {
		t.Error("drop took another counter away")
	}
	if found.Drop(k, c); found.Of(k).Load() != nil {
		t.Error("drop left the counter")
	}
}
