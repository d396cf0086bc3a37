package keyfilletcd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// heldKV holds transactions back that write a state, on request.
type heldKV struct {
	etcdserverpb.KVClient
	state string

	mu      sync.Mutex
	writes  int           // of the state, that were asked for
	from    int           // the first one that is held back; 0: none is
	held    chan struct{} // closed when one is held back
	release chan struct{}
}

func (h *heldKV) Txn(ctx context.Context, r *etcdserverpb.TxnRequest, o ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put == nil || string(put.Key) != h.state {
			continue
		}
		h.mu.Lock()
		h.writes++
		hold := h.writes == h.from
		h.mu.Unlock()
		if hold {
			close(h.held)
			<-h.release
		}
	}
	return h.KVClient.Txn(ctx, r, o...)
}

// TestSharedSeries: a process that makes a new series makes one for each process that has
// found the state changed, too, so that processes that want one at the same time do not
// wait for one transaction each.
func TestSharedSeries(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	name := strings.TrimSuffix(p.prefix, "/")
	stateKey := keyfilletcd.DefaultPrefix + "states/" + name
	owner := func(who string) (keysource.SeriesStore, *heldKV) {
		conn := client.ActiveConnection()
		kv := &heldKV{KVClient: etcdserverpb.NewKVClient(conn), state: stateKey, held: make(chan struct{}), release: make(chan struct{})}
		st := keyfilletcd.NewStoreOver(kv, etcdserverpb.NewLeaseClient(conn), rand.NewPCG(1, 2))
		return st.Series(state(name), keysource.SeriesOwner{Size: 10, Lease: time.Minute, Owner: who}), kv
	}
	first, _ := owner("first")
	if one, err := first.Open(t.Context(), 0); err != nil || one.First != 1 {
		t.Fatalf("Open: %+v, %v", one, err)
	}
	// All others know the state as it is now.
	const others = 5
	var waiting []keysource.SeriesStore
	var kvs []*heldKV
	for i := range others {
		rows, kv := owner(fmt.Sprint("other ", i))
		if own, err := rows.Own(t.Context()); err != nil || own.First != 0 {
			t.Fatalf("Own: %+v, %v", own, err)
		}
		waiting, kvs = append(waiting, rows), append(kvs, kv)
	}
	if one, err := first.Open(t.Context(), 0); err != nil || one.First != 11 {
		t.Fatalf("Open: %+v, %v", one, err)
	}
	type opened struct {
		by  int
		one keysource.Series
		err error
	}
	answers := make(chan opened, others)
	last := others - 1
	for i := range others {
		if i < last {
			kvs[i].from = 2 // the first attempt finds the state changed
		}
		go func() {
			one, err := waiting[i].Open(t.Context(), 0)
			answers <- opened{i, one, err}
		}()
		if i < last {
			<-kvs[i].held
		}
	}
	all := []opened{<-answers}
	if all[0].by != last {
		t.Errorf("other %d was not held back", all[0].by)
	}
	for _, kv := range kvs[:last] {
		close(kv.release)
	}
	for range last {
		all = append(all, <-answers)
	}
	places := map[int64]int{}
	for _, o := range all {
		if o.err != nil || o.one.Last != o.one.First+9 || o.one.Next != o.one.First || !o.one.Own {
			t.Errorf("other %d: %+v, %v", o.by, o.one, o.err)
		}
		if who, twice := places[o.one.First]; twice || o.one.First < 21 || o.one.First > 21+10*int64(last) {
			t.Errorf("other %d has the series of %d, and so has %d", o.by, o.one.First, who)
		}
		places[o.one.First] = o.by
		if o.by < last && o.one.First != 31+10*int64(o.by) {
			t.Errorf("other %d has waited for longer than those after it, and has the series of %d", o.by, o.one.First)
		}
		// It is its own, and can be used.
		if now, moved, err := waiting[o.by].Move(t.Context(), o.one, o.one.First+3); err != nil || !moved {
			t.Errorf("other %d cannot use its series: %+v, %v", o.by, now, err)
		}
	}
	for key, version := range stored(t, client, stateKey) {
		if version != 4 { // made, and written three times: by the first one twice, and for the others once
			t.Errorf("the state %s was written %d times, want 4", key, version)
		}
	}
	if left := stored(t, client, keyfilletcd.DefaultPrefix+"waiting/"+name+"/"); len(left) > 0 {
		t.Errorf("owners wait: %v", left)
	}
}
