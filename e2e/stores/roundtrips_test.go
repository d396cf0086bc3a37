package stores_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// keysASecond is how many keys each process draws of each source while round trips are
// counted.
const keysASecond = 200

// TestRoundTrips counts the round trips to each store while processes draw keys at a rate,
// with what counts where a policy says nothing else: the blocks follow the use, and a lease
// lasts half a minute. Each source has a store of its own on the same servers, through
// proxies that count what they carry. With make roundtrips it does so for 1, 8 and 64
// processes, and asks for less than one a second of each process and source; else for 2
// processes until each has keys, and asks that anything is counted.
func TestRoundTrips(t *testing.T) {
	for _, s := range storesUnderTest {
		if !harness.Soaking() && s.name != "MariaDB" && s.name != "etcd" {
			continue // one store for each way to count
		}
		t.Run(s.name, func(t *testing.T) {
			sizes := []int{1, 8, 64}
			if !harness.Soaking() {
				t.Parallel()
				sizes = []int{2}
			}
			store := s.start(t)
			for _, processes := range sizes {
				roundTrips(t, store, processes)
			}
		})
	}
}

// plainKinds are the sources whose round trips are counted, as a policy names them.
var plainKinds = [...]string{sequence: "sequence", recycled: "recycled", flake: "snowflake"}

// ratedTable returns the table of a source for a number of processes.
func ratedTable(processes, k int) string { return fmt.Sprintf("t%d_%s", processes, plainKinds[k]) }

// roundTrips counts the round trips of some processes.
func roundTrips(t *testing.T, s *store, processes int) {
	t.Helper()
	cfg := &policy.Config{Dialect: s.engine.Dialect.Name, Stores: map[string]policy.Store{}, Tables: map[string]policy.Table{}}
	dsn, stores := s.of(0)
	var through [3][]*proxy
	for k, kind := range plainKinds {
		at := stores[central]
		var addresses []string
		for _, known := range s.proxies[0] {
			p := startProxy(t, known.server, known.sees)
			through[k] = append(through[k], p)
			addresses = append(addresses, p.addr())
			at.DSN = strings.Replace(at.DSN, known.addr(), p.addr(), 1)
		}
		if at.Endpoints != nil {
			at.Endpoints = addresses
		}
		cfg.Stores[kind] = at
		source := policy.Source{Kind: kind, Store: kind, EnsureSchema: true, Name: fmt.Sprintf("%s_%d", kind, processes)}
		if k == flake {
			source.WorkerLease = 30 * time.Second
		}
		name := ratedTable(processes, k)
		harness.Exec(t, s.raw, "CREATE TABLE "+name+" (id BIGINT NOT NULL PRIMARY KEY)")
		cfg.Tables[name] = policy.Table{Column: "id", InPlace: &source}
	}
	w := &world{t: t, store: s, folder: t.TempDir(), probes: 1, job: job{
		Driver: s.engine.Driver, DSN: dsn, Hands: 1, Kinds: []int{sequence, recycled, flake}, Rate: keysASecond, Policy: cfg, Tables: processes,
	}}
	t.Cleanup(func() {
		for _, m := range w.all {
			_ = m.cmd.Process.Kill() // mostly gone
		}
	})
	counts := func() (n [3]int64) {
		for k := range through {
			for _, p := range through[k] {
				n[k] += p.trips.Load()
			}
		}
		return n
	}
	for place := range processes {
		w.start(place)
	}
	w.awaitProbe("start", time.Now())
	if !harness.Soaking() {
		w.end(w.places)
		for k, n := range counts() {
			if n == 0 {
				t.Errorf("%s, %s: no round trip was counted", s.name, kinds[k].name)
			}
		}
		return
	}
	const warm, lasts = 10 * time.Second, 30 * time.Second
	time.Sleep(warm) // the blocks grow
	before, failed, began := counts(), len(w.failures(w.all)), time.Now()
	time.Sleep(lasts)
	after, lasted := counts(), time.Since(began)
	w.end(w.places)
	if lines := w.failures(w.all); len(lines) > failed {
		t.Errorf("%d errors while round trips were counted; of all:%s", len(lines)-failed, indent(tally(lines)))
	}
	for k := range before {
		trips := float64(after[k]-before[k]) / lasted.Seconds() / float64(processes)
		t.Logf("%s, %s, %d processes: %.2f round trips a second of each", s.name, plainKinds[k], processes, trips)
		if trips > 1 {
			t.Errorf("%s, %s: %.2f round trips a second of each of %d processes, want less than one", s.name, plainKinds[k], trips, processes)
		}
	}
}
