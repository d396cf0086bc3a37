package keyfilletcd_test

import (
	"bufio"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/storetest"
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

// counted returns a member that counts transactions, and what is asked of leases.
func counted(t *testing.T) storetest.Counted {
	m := testdb.StartEtcd(t, 1)
	return storetest.Counted{
		Open: func() keysource.Store { return opened(t, m) },
		Count: func() int {
			transactions, leases := roundTrips(t, m[0])
			return transactions + leases
		},
	}
}

// TestRoundTrips: a source that is alone needs one transaction for each block, and one to
// find the state.
func TestRoundTrips(t *testing.T) {
	// It is looked for and made, and the block after the last one may be fetched too. An
	// attempt that failed may have asked as often as the first one: it looks, makes and reserves.
	storetest.RoundTrips(t, counted(t), func(failed int) int { return 3 + 3*failed })
}

func TestRoundTripsASecond(t *testing.T) { storetest.RoundTripsASecond(t, counted) }

// sharing returns one state in several stores, each of which has reserved n integers of it.
func sharing(t *testing.T, members []*testdb.EtcdMember, stores int, n int64) (all []keysource.Reserver) {
	t.Helper()
	for range stores {
		r := opened(t, members).Reserver(state("shared"))
		storetest.Await(t, r, n, 0)
		all = append(all, r)
	}
	return all
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
