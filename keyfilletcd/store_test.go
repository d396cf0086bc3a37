package keyfilletcd_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
)

// TestStore: a store in etcd does what every store does.
func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{Server: serverOf(shared.Need(t)), Lease: lease})
}

// TestLeaderKilled: sources of three processes draw from three members, of which one after
// the other is killed and started again, the leader among them; by turns the leader alone,
// for one kind of source. No key comes twice, and each process goes on.
func TestLeaderKilled(t *testing.T) {
	members := testdb.StartEtcd(t, 3)
	for _, kind := range testturn.Some(t, storetest.Kinds, len(storetest.Kinds)) {
		t.Run(kind, func(t *testing.T) {
			drawers := storetest.StartDrawers(t, 3, serverOf(members), storetest.SourceOptions{Kind: kind, Name: kind, Lease: lease})
			drawers.GoOn(t, "at first")
			killed := members
			if testturn.Enabled(t) {
				killed = leader(t, members)
			}
			for _, m := range killed {
				m.Kill(t)
				drawers.GoOn(t, "after "+m.URL()+" was killed")
				m.Restart(t)
			}
			drawers.GoOn(t, "at the end")
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
