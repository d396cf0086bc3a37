package keyfilletcd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// slowMember is a member that needs a time for each answer, which is that nothing is there
// but a value.
type slowMember struct {
	etcdserverpb.KVClient
	takes time.Duration
	quick string          // what the keys begin with that it answers for at once
	value string          // of the first key that is asked for; empty: there is none
	asked []time.Duration // when, since the first question to any
	began time.Time
}

func (m *slowMember) Txn(ctx context.Context, r *etcdserverpb.TxnRequest, _ ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	takes := m.takes
	if m.quick != "" && strings.HasPrefix(keyOf(r), m.quick) {
		takes = 0
	} else {
		m.asked = append(m.asked, time.Since(m.began))
	}
	select {
	case <-time.After(takes):
		answer := &etcdserverpb.TxnResponse{Header: &etcdserverpb.ResponseHeader{}, Succeeded: true}
		for range r.Success {
			found := &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{}}
			answer.Responses = append(answer.Responses, &etcdserverpb.ResponseOp{Response: found})
		}
		if m.value != "" {
			first := answer.Responses[0].GetResponseRange()
			first.Kvs = []*mvccpb.KeyValue{{Value: []byte(m.value), CreateRevision: 1, ModRevision: 1}}
		}
		return answer, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// TestPatience: a member that does not answer is asked for a second, however much time the
// question has, and then the next one; one that was silent is asked for longer after that.
// Of a single member there is no other one to ask.
func TestPatience(t *testing.T) {
	const never = time.Hour
	const s = time.Second
	for _, test := range []struct {
		name  string
		takes []time.Duration
		asked [][]time.Duration
		took  time.Duration
	}{
		{"one is stopped", []time.Duration{never, 0, 0}, [][]time.Duration{{0}, {s, s}, nil}, s},
		{"the others elect a leader", []time.Duration{never, 1500 * time.Millisecond, 1500 * time.Millisecond},
			[][]time.Duration{{0, 3 * s}, {s, 5 * s, 6500 * time.Millisecond}, {2 * s}}, 8 * s},
		{"one alone", []time.Duration{4 * s}, [][]time.Duration{{0, 4 * s}}, 8 * s},
		{"one alone is stopped", []time.Duration{never}, [][]time.Duration{{0, 20 * s, 40 * s}}, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var members []*slowMember
				var clients []etcdserverpb.KVClient
				for _, takes := range test.takes {
					m := &slowMember{takes: takes, began: began}
					members = append(members, m)
					clients = append(clients, m)
				}
				marker := keyfilletcd.NewStoreOfMembers(clients).Marker(state("flakes"), 1, "owner")
				// The first question is for the mark, the second one raises it.
				for time.Since(began) < time.Minute {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					_, err := marker.Mark(ctx, 1)
					cancel()
					if err == nil {
						break
					}
					if len(members) > 1 && errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("the error of a question that had time left: %v", err)
					}
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				for i, m := range members {
					if !slices.Equal(m.asked, test.asked[i]) {
						t.Errorf("member %d was asked at %v, want %v", i, m.asked, test.asked[i])
					}
				}
			})
		})
	}
}

// keyOf returns the key that a transaction is about.
func keyOf(r *etcdserverpb.TxnRequest) string {
	if put := r.Success[0].GetRequestPut(); put != nil {
		return string(put.Key)
	}
	return string(r.Success[0].GetRequestRange().Key)
}

// TestPatienceForOnce: a question that no source repeats gets its answer while there is
// time, also beside questions that are answered quickly.
func TestPatienceForOnce(t *testing.T) {
	of := state("orders")
	ahead := `"parameters":"` + of.Parameters + `","base":100}`
	for _, test := range []struct {
		name, value string
		ask         func(ctx context.Context, s keysource.Store) error
	}{
		{"Bind", "", func(ctx context.Context, s keysource.Store) error { return s.Bind(ctx, of, "orders.id") }},
		{"GiveUp", "", func(ctx context.Context, s keysource.Store) error {
			return s.Series(of, keysource.SeriesOwner{Size: 10, Lease: lease, Owner: "a"}).GiveUp(ctx, keysource.Series{First: 1, Last: 10, Next: 1}, 1)
		}},
		{"Advance", `{"kind":"sequence",` + ahead, func(ctx context.Context, s keysource.Store) error {
			return s.Reserver(of).Advance(ctx, 5)
		}},
		{"Advance of series", `{"kind":"series",` + ahead, func(ctx context.Context, s keysource.Store) error {
			return s.Series(of, keysource.SeriesOwner{Size: 10, Lease: lease, Owner: "a"}).Advance(ctx, 5)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var members []*slowMember
				var clients []etcdserverpb.KVClient
				for range 3 {
					m := &slowMember{takes: 1500 * time.Millisecond, quick: "keyfill/marks/", value: test.value, began: began}
					members, clients = append(members, m), append(clients, m)
				}
				store := keyfilletcd.NewStoreOfMembers(clients)
				ctx, stop := context.WithCancel(t.Context())
				var group sync.WaitGroup
				group.Go(func() {
					for ctx.Err() == nil {
						_, _ = store.Marker(state("flakes"), 1, "owner").Mark(ctx, 1)
						time.Sleep(100 * time.Millisecond)
					}
				})
				limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := test.ask(limited, store); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != 4500*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				for i, want := range [][]time.Duration{{0, 3 * time.Second}, {time.Second}, {2 * time.Second}} {
					if !slices.Equal(members[i].asked, want) {
						t.Errorf("member %d was asked at %v, want %v", i, members[i].asked, want)
					}
				}
				stop()
				group.Wait()
			})
		})
	}
}
