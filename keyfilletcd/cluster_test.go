package keyfilletcd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testdb"
)

// TestCluster: the cluster of the simulation answers as etcd does, to a program of random
// transactions of the kinds that the states have, and to questions about leases.
func TestCluster(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	real, err := clientv3.New(clientv3.Config{Endpoints: urls(members), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	const lasts = 3600
	granted, err := real.Grant(t.Context(), lasts)
	if err != nil {
		t.Fatal(err)
	}
	leases := map[string]int64{"granted": int64(granted.ID), "unknown": 99, "none": 0}
	program := func(lease map[string]int64) []*etcdserverpb.TxnRequest {
		r := rand.New(rand.NewPCG(1, 2))
		var all []*etcdserverpb.TxnRequest
		for range 400 {
			all = append(all, randomTxn(r, lease))
		}
		return all
	}
	var want []string
	kv := etcdserverpb.NewKVClient(real.ActiveConnection())
	base := int64(0) // the revision before the program
	for i, r := range program(leases) {
		answer, err := kv.Txn(t.Context(), r)
		if i == 0 {
			got, err := real.Get(t.Context(), "none")
			if err != nil {
				t.Fatal(err)
			}
			base = got.Header.Revision - 1
			if answer != nil && len(answer.Responses) > 0 && answer.Header.Revision == got.Header.Revision {
				base = answer.Header.Revision
			}
		}
		want = append(want, told(answer, err, base, leases["granted"]))
	}
	var got []string
	trial := &sim.Trial{
		Begin: func(w *sim.World) { w.Model = newCluster() },
		Open: func(p *sim.Process) (sim.Source, error) {
			return once(func(ctx context.Context) {
				if got != nil {
					return
				}
				c := newClient(p)
				granted, err := c.LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{TTL: lasts})
				if err != nil {
					t.Error(err)
					return
				}
				leases := map[string]int64{"granted": granted.ID, "unknown": 99, "none": 0}
				base := granted.Header.Revision
				for _, r := range program(leases) {
					answer, err := c.Txn(ctx, r)
					got = append(got, told(answer, err, base, granted.ID))
				}
			}), nil
		},
	}
	for seed := uint64(4); got == nil; seed += 4 { // a world in which nothing goes wrong
		trial.One(t, seed)
	}
	succeeded := 0
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("transaction %d:\n%v\netcd answers\n%s\nand the simulation\n%s", i, program(leases)[i], want[i], got[i])
		}
		if strings.HasPrefix(want[i], "true") {
			succeeded++
		}
	}
	if succeeded < 50 || succeeded > len(want)-50 {
		t.Errorf("%d of %d transactions have succeeded, which says little", succeeded, len(want))
	}
}

// randomTxn is a transaction on a few keys.
func randomTxn(r *rand.Rand, leases map[string]int64) *etcdserverpb.TxnRequest {
	key := func() string { return fmt.Sprintf("k/%d", r.IntN(4)) }
	value := func() string { return fmt.Sprint("v", r.IntN(3)) }
	one := &etcdserverpb.TxnRequest{}
	for range r.IntN(3) {
		c := []clientv3.Cmp{
			clientv3.Compare(clientv3.CreateRevision(key()), "=", 0),
			clientv3.Compare(clientv3.CreateRevision(key()), ">", 0),
			clientv3.Compare(clientv3.Value(key()), "=", value()),
			clientv3.Compare(clientv3.Version(key()), "<", 3),
			clientv3.Compare(clientv3.CreateRevision("k/1"), "=", 0).WithRange(clientv3.GetPrefixRangeEnd("k/")),
		}[r.IntN(5)]
		one.Compare = append(one.Compare, c.GetCompare())
	}
	put := func(k string) *etcdserverpb.RequestOp {
		lease := leases[[]string{"none", "none", "none", "granted", "granted", "unknown"}[r.IntN(6)]]
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{Key: []byte(k), Value: []byte(value()), Lease: lease}}}
	}
	find := func(from, end string, keysOnly bool) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: &etcdserverpb.RangeRequest{Key: []byte(from), RangeEnd: []byte(end), KeysOnly: keysOnly}}}
	}
	remove := func(k string) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte(k)}}}
	}
	k := r.IntN(4)
	one.Success = append(one.Success, put(fmt.Sprintf("k/%d", k)))
	if r.IntN(3) == 0 {
		one.Success = append(one.Success, put(fmt.Sprintf("k/%d", (k+2)%4)))
	}
	one.Success = append(one.Success, find("k/", "k0", false))
	if r.IntN(2) == 0 {
		one.Success = append(one.Success, remove(fmt.Sprintf("k/%d", (k+1)%4)), find("k/", "k0", true))
	}
	one.Failure = append(one.Failure, find(key(), "", false))
	if r.IntN(3) == 0 {
		one.Failure = append(one.Failure, remove(key()))
	}
	return one
}

// told is an answer with the revisions since base.
func told(answer *etcdserverpb.TxnResponse, err error, base, lease int64) string {
	if err != nil {
		return "error " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%t at %d", answer.Succeeded, answer.Header.Revision-base)
	for _, one := range answer.Responses {
		switch {
		case one.GetResponseRange() != nil:
			found := one.GetResponseRange()
			fmt.Fprintf(&b, "; %d:", found.Count)
			for _, kv := range found.Kvs {
				fmt.Fprintf(&b, " %s=%s created %d modified %d version %d leased %t", kv.Key, kv.Value,
					kv.CreateRevision-base, kv.ModRevision-base, kv.Version, kv.Lease == lease)
			}
		case one.GetResponseDeleteRange() != nil:
			fmt.Fprintf(&b, "; deleted %d", one.GetResponseDeleteRange().Deleted)
		default:
			b.WriteString("; put")
		}
	}
	return b.String()
}

// once is a source that does something at its first request, and gives no key.
type once func(context.Context)

func (f once) Next(ctx context.Context, n int) ([]int64, error) {
	f(ctx)
	return nil, context.DeadlineExceeded
}

func (f once) Close(context.Context) error { return nil }
