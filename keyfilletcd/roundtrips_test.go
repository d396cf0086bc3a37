package keyfilletcd_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
)

// started matches the metric that counts the calls to a member by their method.
var started = regexp.MustCompile(`^grpc_server_started_total\{grpc_method="(\w+)",.*\} (\S+)$`)

// roundTrips returns how many transactions, and renewals and grants of leases, a member
// was asked for.
func roundTrips(t *testing.T, m *testdb.EtcdMember) (transactions, leases int) {
	t.Helper()
	answer, err := http.Get(m.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		found := started.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		n, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		switch found[1] {
		case "Txn":
			transactions += int(n)
		case "LeaseGrant", "LeaseKeepAlive":
			leases += int(n)
		}
	}
	return transactions, leases
}

// TestRoundTrips: a source that is alone needs one transaction for each block, and one to
// find the state.
func TestRoundTrips(t *testing.T) {
	const block, blocks = 100, 50
	m := testdb.StartEtcd(t, 1)
	src, err := keysource.NewSequence(keysource.SequenceOptions{Reserver: opened(t, m).Reserver(state("alone")), Block: block}, keysource.Env{StoreWait: time.Hour})
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
	// It is looked for and made, and the block after the last one may be fetched too. An
	// attempt that failed may have asked as often as the first one: it looks, makes and reserves.
	missed := int(src.Stats().Fetching.Errors)
	if n, _ := roundTrips(t, m[0]); n < blocks || n > blocks+3+3*missed {
		t.Errorf("%d transactions for %d blocks, and %d attempts that failed", n, blocks, missed)
	}
}

// TestSharedState: sources that reserve from one state at the same time, or by turns, do not
// wait for each other. Each reservation is one transaction, and one entry of the cluster's log.
func TestSharedState(t *testing.T) {
	const sources, turns = 16, 50
	m := testdb.StartEtcd(t, 1)
	all := sharing(t, m, sources, 1000) // they have found the state and its counts
	entries := logged(t, m[0])
	transactions, _ := roundTrips(t, m[0])
	var group sync.WaitGroup
	for _, r := range all {
		group.Go(func() {
			for range turns {
				if _, err := r.Reserve(t.Context(), 1000, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	after, _ := roundTrips(t, m[0])
	if n := after - transactions; n != sources*turns {
		t.Errorf("%d transactions for %d reservations", n, sources*turns)
	}
	if n := logged(t, m[0]) - entries; n < sources*turns || n > sources*turns+10 { // it logs a few of its own
		t.Errorf("%d entries of the log for %d reservations", n, sources*turns)
	}
}

// logged returns how many entries of the cluster's log a member has applied.
func logged(t *testing.T, m *testdb.EtcdMember) int {
	t.Helper()
	return metric(t, m, "etcd_server_proposals_applied_total")
}

// metric returns a metric of a member.
func metric(t *testing.T, m *testdb.EtcdMember, name string) int {
	t.Helper()
	answer, err := http.Get(m.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), name+" "); found {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
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
				m := testdb.StartEtcd(t, 1)
				var group sync.WaitGroup
				for i := range processes {
					src, err := usual(opened(t, m), kind, fmt.Sprint("owner", i))
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
				transactions, leases := roundTrips(t, m[0])
				if transactions == 0 {
					t.Fatal("the member has answered no transaction: this test reads its metrics wrongly")
				}
				perSecond := float64(transactions+leases) / lasts.Seconds() / float64(processes)
				t.Logf("%s, processes: %d, round trips a second of each: %.2f (%d transactions, %d of leases)", kind, processes, perSecond, transactions, leases)
			})
		}
	}
}

// usual opens a source with the default lease and the default blocks of a policy.
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
