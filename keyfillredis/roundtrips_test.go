package keyfillredis_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/keyfill/keyfill/internal/storetest"
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

// counted returns a server that counts scripts.
func counted(t *testing.T) storetest.Counted {
	server := testdb.StartRedis(t)
	return storetest.Counted{
		Open:  func() keysource.Store { return opened(t, server) },
		Count: func() int { return roundTrips(t, server) },
	}
}

// TestRoundTrips: a source that is alone needs one script for each block, one more to make
// the state, and one that finds out that the server does not know the script yet.
func TestRoundTrips(t *testing.T) {
	// The block after the last one may be fetched too, and what takes too long is asked again.
	storetest.RoundTrips(t, counted(t), func(int) int { return 25 })
}

func TestRoundTripsASecond(t *testing.T) { storetest.RoundTripsASecond(t, counted) }
