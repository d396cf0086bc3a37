package keyfillredis_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
)

// calls matches the line of INFO that counts a command, however it has ended.
var calls = regexp.MustCompile(`(?m)^cmdstat_(eval|evalsha):calls=(\d+),`)

// roundTrips returns how many scripts a server was asked for.
func roundTrips(t *testing.T, s *testdb.RedisServer) int {
	t.Helper()
	n := 0
	for _, found := range calls.FindAllStringSubmatch(s.Command(t, "INFO", "commandstats"), -1) {
		one, err := strconv.Atoi(found[2])
		if err != nil {
			t.Fatal(err)
		}
		n += one
	}
	return n
}

// TestRoundTrips: a source that is alone needs one script for each block, one more to make
// the state, and one that finds out that the server does not know the script yet.
func TestRoundTrips(t *testing.T) {
	const block, blocks = 100, 50
	s := testdb.StartRedis(t)
	src, err := keysource.NewSequence(keysource.SequenceOptions{Reserver: opened(t, s).Reserver(state("alone")), Block: block}, keysource.Env{StoreWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for range blocks * block {
		if _, err := src.Reserve(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := src.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// The block after the last one may be fetched too, and what takes too long is asked again.
	if n := roundTrips(t, s); n < blocks || n > blocks+blocks/2 {
		t.Errorf("%d scripts for %d blocks", n, blocks)
	}
}

// TestRoundTripsASecond measures the round trips of processes that each draw 200 keys a
// second from one state, with the settings of a policy that says nothing else.
func TestRoundTripsASecond(t *testing.T) {
	const rate, lasts = 200, 12 * time.Second
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it takes a minute")
	}
	for _, kind := range kinds {
		for _, processes := range []int{1, 8} {
			t.Run(fmt.Sprint(kind, processes), func(t *testing.T) {
				t.Parallel()
				server := testdb.StartRedis(t)
				var group sync.WaitGroup
				for i := range processes {
					src, err := usual(opened(t, server), kind, fmt.Sprint("owner", i))
					if err != nil {
						t.Fatal(err)
					}
					group.Go(func() {
						tick := time.NewTicker(time.Second / rate)
						defer tick.Stop()
						for end := time.Now().Add(lasts); time.Now().Before(end); <-tick.C {
							if _, err := src.Reserve(t.Context(), 1); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
				n := roundTrips(t, server)
				if n == 0 {
					t.Fatal("the server has run no script: this test reads its counts wrongly")
				}
				perSecond := float64(n) / lasts.Seconds() / float64(processes)
				t.Logf("%s, processes: %d, round trips a second of each: %.2f (%d scripts)", kind, processes, perSecond, n)
			})
		}
	}
}

// usual opens a source with the lease and the blocks that count where a policy names none.
func usual(s keysource.Store, kind, owner string) (source, error) {
	env := keysource.Env{StoreWait: time.Hour} // however slow the server is, no request fails
	switch kind {
	case "sequence":
		return keysource.NewSequence(keysource.SequenceOptions{Reserver: s.Reserver(state(kind))}, env)
	case "recycled":
		rows := s.Series(state(kind), keysource.SeriesOwner{Size: keysource.DefaultSeries, Lease: keysource.DefaultLease, Owner: owner})
		return keysource.NewRecycled(keysource.RecycledOptions{Store: rows}, env)
	}
	numbers := state(kind)
	numbers.Max = 1024
	return keysource.NewLeased(keysource.LeasedOptions{
		Store: s.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: keysource.DefaultLease, Owner: owner}),
		Open: func(worker int) (*keysource.Snowflake, error) {
			return keysource.NewSnowflake(keysource.SnowflakeOptions{
				Worker: &worker, Marker: s.Marker(state(kind+" marks"), int64(worker), owner),
			}, env)
		},
	}, env)
}
