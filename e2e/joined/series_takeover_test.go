package joined_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// TestTakeOverAtOnce: as many owners as there are series without one take them over at
// once. Each gets one at its first call, and no two get the same.
func TestTakeOverAtOnce(t *testing.T) {
	t.Parallel()
	const owners = 40
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		numbers := sequence.Sequence{Name: "workers", Shared: true, Made: sequence.MadeRow{Start: 1}, Bounds: sequence.Bounds{Max: owners}, Create: true, EnsureSchema: true}
		seriesOf := func(i int) *series.Rows {
			return series.New(harness.StoreOf(t, s), series.Options{Sequence: numbers, Size: 1, Lease: time.Hour, Owner: fmt.Sprint("owner ", i)})
		}
		first := seriesOf(0)
		for range owners {
			one, err := first.Open(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.GiveUp(t.Context(), one, one.Next); err != nil {
				t.Fatal(err)
			}
		}
		// They are connected, and wait for each other.
		all := make([]*series.Rows, owners)
		for i := range all {
			all[i] = seriesOf(i + 1)
			if _, err := all[i].Own(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		taken := map[int64]int{}
		var group sync.WaitGroup
		begin := make(chan struct{})
		for i, series := range all {
			group.Go(func() {
				<-begin
				one, err := series.TakeOver(t.Context(), 1)
				if err != nil {
					t.Errorf("owner %d: %v", i, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if other, twice := taken[one.First]; twice || one == (keysource.Series{}) {
					t.Errorf("owner %d has the series %+v, and owner %d has it too", i, one, other)
				}
				taken[one.First] = i
			})
		}
		close(begin)
		group.Wait()
	})
}
