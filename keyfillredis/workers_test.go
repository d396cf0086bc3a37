package keyfillredis_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
)

// TestWorkerNumbers: 16 stores with 4 sources each lease a worker's number at once. No two
// of them have one, and what they return is taken again: the numbers stay the lowest.
func TestWorkerNumbers(t *testing.T) {
	const stores, each = 16, 4
	const lasts = 10 * time.Minute // longer than this test
	server := testdb.StartRedis(t)
	env := keysource.Env{StoreWait: lasts}
	for round := range 2 {
		sources := make([]*keysource.Leased, stores*each)
		var group sync.WaitGroup
		for i := range stores {
			s := opened(t, server)
			for j := range each {
				owner := fmt.Sprint("owner ", round, i, j)
				numbers := state("workers")
				numbers.Max = stores * each
				src, err := keysource.NewLeased(keysource.LeasedOptions{
					Store: s.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: lasts, Owner: owner}), Lease: lasts,
					Open: func(worker int) (*keysource.Snowflake, error) {
						return keysource.NewSnowflake(keysource.SnowflakeOptions{
							Worker: &worker, Marker: s.Marker(state("marks"), int64(worker), owner),
						}, env)
					},
				}, env)
				if err != nil {
					t.Fatal(err)
				}
				sources[i*each+j] = src
				group.Go(func() {
					if _, err := src.Reserve(t.Context(), 1); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
		}
		began := time.Now()
		group.Wait()
		owners := map[int]int{}
		for i, src := range sources {
			number := src.Stats().Snowflake.Worker
			if other, twice := owners[number]; twice || number < 0 || number >= len(sources) {
				t.Errorf("round %d: the number %d is that of source %d, and of source %d", round, number, i, other)
			}
			owners[number] = i
		}
		t.Logf("%d sources had a number after %v", len(owners), time.Since(began).Round(time.Millisecond))
		for _, src := range sources {
			group.Go(func() {
				if err := src.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		group.Wait()
	}
}
