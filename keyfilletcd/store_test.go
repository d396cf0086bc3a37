package keyfilletcd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// TestStore: a store in etcd does what every store does.
func TestStore(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	storetest.Run(t, storetest.Options{
		Open:  func(t testing.TB) keysource.Store { return open(t, members) },
		Lease: lease,
	})
}

// TestManyKeys draws 10⁵ keys from each kind of source, by 8 stores with 4 users each.
func TestManyKeys(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			storetest.Swarm(t, 8, 4, testturn.Share(t, 3_200, 1_600), func(i int) (source, error) {
				s := opened(t, members)
				if kind == "sequence" { // in blocks that follow the use
					return keysource.NewSequence(keysource.SequenceOptions{Reserver: s.Reserver(state(kind))}, keysource.Env{StoreWait: time.Hour})
				}
				return newSource(s, kind, fmt.Sprint("owner", i))
			})
		})
	}
}

// seen are keys that were drawn, none of them twice.
type seen struct {
	mu   sync.Mutex
	keys map[int64]bool
}

func (s *seen) add(t *testing.T, key int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[int64]bool{}
	}
	if s.keys[key] {
		t.Errorf("the key %d was drawn twice", key)
	}
	s.keys[key] = true
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// TestLeaderKilled: sources of three processes draw from three members, of which one after
// the other is killed and started again, the leader among them; by turns the leader alone,
// for one kind of source. No key comes twice, and each process goes on.
func TestLeaderKilled(t *testing.T) {
	members := testdb.StartEtcd(t, 3)
	for _, kind := range testturn.Some(t, kinds, len(kinds)) {
		t.Run(kind, func(t *testing.T) {
			var all seen
			var readers sync.WaitGroup
			t.Cleanup(readers.Wait) // when the processes were killed
			drawn := make([]*counter, 3)
			for i := range drawn {
				d := startDrawing(t, members, kind, fmt.Sprint("owner", i), 3*time.Millisecond)
				drawn[i] = newCounter()
				readers.Go(func() {
					for {
						key, err := d.next()
						if err != nil {
							drawn[i].end()
							return
						}
						all.add(t, key)
						drawn[i].one()
					}
				})
			}
			goOn := func(when string) {
				began := time.Now()
				for i, c := range drawn {
					// More keys than a block has: the store was asked.
					if !c.await(t, 60) {
						t.Fatalf("process %d has ended %s", i, when)
					}
				}
				t.Logf("%s all processes had 60 more keys after %v", when, time.Since(began).Round(time.Millisecond))
			}
			goOn("at first")
			killed := members
			if testturn.Enabled(t) {
				killed = leader(t, members)
			}
			for _, m := range killed {
				m.Kill(t)
				goOn("after " + m.URL() + " was killed")
				m.Restart(t)
			}
			goOn("at the end")
			t.Logf("%d keys", all.count())
		})
	}
}

// leader returns the member that leads its cluster. It waits while none does.
func leader(t *testing.T, members []*testdb.EtcdMember) []*testdb.EtcdMember {
	t.Helper()
	for {
		for _, m := range members {
			if isLeader(t, m) {
				return []*testdb.EtcdMember{m}
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("no member leads the cluster")
		}
	}
}

// isLeader reports whether a member leads its cluster.
func isLeader(t *testing.T, m *testdb.EtcdMember) bool {
	t.Helper()
	answer, err := http.Post(m.URL()+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var status struct {
		Header struct {
			MemberID string `json:"member_id"`
		}
		Leader string // left out while there is none
	}
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil || status.Header.MemberID == "" {
		t.Fatalf("the state of %s: %+v, %v", m.URL(), status, err)
	}
	return status.Leader == status.Header.MemberID
}

// counter counts what a process has drawn.
type counter struct {
	mu      sync.Mutex
	n       int
	ended   bool
	changed chan struct{} // closed at the next change
}

func newCounter() *counter { return &counter{changed: make(chan struct{})} }

func (c *counter) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *counter) one() { c.change(func() { c.n++ }) }
func (c *counter) end() { c.change(func() { c.ended = true }) }

// await waits until n more were drawn. It returns false where the process has ended.
func (c *counter) await(t *testing.T, n int) bool {
	t.Helper()
	c.mu.Lock()
	want := c.n + n
	c.mu.Unlock()
	for {
		c.mu.Lock()
		have, ended, changed := c.n, c.ended, c.changed
		c.mu.Unlock()
		if have >= want {
			return true
		}
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			return false
		}
	}
}

// TestStopped: a process that is stopped for longer than its lease has lost what it leased
// to another one, and makes no key that the other one makes.
func TestStopped(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	for _, kind := range kinds[1:] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var all seen
			take := func(d *drawing, n int) {
				t.Helper()
				for range n {
					key, err := d.next()
					if err != nil {
						t.Fatal(err)
					}
					all.add(t, key)
				}
			}
			one := startDrawing(t, members, kind, "one", 5*time.Millisecond)
			take(one, 100)
			stop(t, one)
			rows := opened(t, members).Series(ofKind(kind), keysource.SeriesOwner{Size: sizeOf(kind), Lease: lease, Owner: "two"})
			taken := takeOver(t, rows)
			if taken.Epoch != 2 {
				t.Errorf("what was taken over is %+v", taken)
			}
			if err := rows.GiveUp(t.Context(), taken, taken.Next); err != nil {
				t.Fatal(err)
			}
			two := startDrawing(t, members, kind, "three", 5*time.Millisecond)
			take(two, 100)
			resume(t, one)
			for range 5 {
				take(one, 50)
				take(two, 50)
			}
			if now, err := rows.Own(context.Background()); err != nil || now.First != 0 {
				t.Errorf("what was given up: %+v, %v", now, err)
			}
		})
	}
}
