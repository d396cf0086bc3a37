package keyfilletcd_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// wrongKV is a client that does something wrong with a transaction.
type wrongKV struct {
	etcdserverpb.KVClient
	do func(ctx context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error)
}

type sender func(*etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error)

func (w wrongKV) Txn(ctx context.Context, r *etcdserverpb.TxnRequest, o ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	return w.do(ctx, r, func(r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
		return w.KVClient.Txn(ctx, r, o...)
	})
}

// without sends requests without the conditions that leave says.
func without(leave func(ctx context.Context, c *etcdserverpb.Compare) bool) func(*client) etcdserverpb.KVClient {
	return func(c *client) etcdserverpb.KVClient {
		return wrongKV{c, func(ctx context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
			return send(&etcdserverpb.TxnRequest{Success: r.Success, Failure: r.Failure,
				Compare: slices.DeleteFunc(slices.Clone(r.Compare), func(c *etcdserverpb.Compare) bool { return leave(ctx, c) })})
		}}
	}
}

// unanswered does something wrong where a transaction that changes keys has no answer.
func unanswered(do func(c *client, r *etcdserverpb.TxnRequest, send sender, err error) (*etcdserverpb.TxnResponse, error)) func(*client) etcdserverpb.KVClient {
	return func(c *client) etcdserverpb.KVClient {
		return wrongKV{c, func(ctx context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
			answer, err := send(r)
			if err == nil || len(r.Compare) == 0 || ctx.Err() != nil || err == sim.ErrKilled || err == rpctypes.ErrGRPCLeaseNotFound {
				return answer, err
			}
			return do(c, r, send, err)
		}}
	}
}

// isReservation reports whether a transaction reserves integers of a sequence.
func isReservation(r *etcdserverpb.TxnRequest) bool {
	return slices.ContainsFunc(r.Success, func(op *etcdserverpb.RequestOp) bool {
		return op.GetRequestPut() != nil && strings.HasPrefix(string(op.GetRequestPut().Key), countKeys)
	})
}

// sequenceMutants are sequences on etcd that are wrong in one way each.
var sequenceMutants = []mutant{
	{
		name: "where the sequence stands is read behind the reservation", law: "unique",
		kv: func(c *client) etcdserverpb.KVClient {
			return wrongKV{c, func(_ context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
				answer, err := send(r)
				if err != nil || !answer.Succeeded || !isReservation(r) {
					return answer, err
				}
				behind, err := send(&etcdserverpb.TxnRequest{Success: r.Failure})
				if err != nil {
					return nil, err
				}
				behind.Responses = append(answer.Responses[:len(answer.Responses)-len(r.Failure)], behind.Responses...)
				return behind, nil
			}}
		},
	},
	{
		name: "the base is believed as it was read before", law: "reserved",
		kv: func(c *client) etcdserverpb.KVClient {
			var mu sync.Mutex
			var known *etcdserverpb.ResponseOp
			return wrongKV{c, func(_ context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
				reserves := isReservation(r)
				if reserves {
					r = &etcdserverpb.TxnRequest{Success: r.Success, Failure: r.Failure}
				}
				answer, err := send(r)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				if at := len(answer.Responses) - 2; reserves && known != nil {
					answer.Responses[at] = known
				} else if at >= 0 && len(answer.Responses[at].GetResponseRange().GetKvs()) == 1 {
					known = answer.Responses[at]
				}
				return answer, nil
			}}
		},
	},
	{
		name: "a transaction without an answer counts as done", law: "unique",
		kv: unanswered(func(c *client, r *etcdserverpb.TxnRequest, send sender, err error) (*etcdserverpb.TxnResponse, error) {
			if !isReservation(r) {
				return nil, err
			}
			answer, err := send(&etcdserverpb.TxnRequest{Success: r.Failure})
			if err != nil {
				return nil, err
			}
			answer.Responses = append(make([]*etcdserverpb.ResponseOp, len(r.Success)-len(r.Failure)), answer.Responses...)
			return answer, nil
		}),
	},
	{
		name: "a count that was lost is not missed", law: "unique",
		kv: func(c *client) etcdserverpb.KVClient {
			return wrongKV{c, func(_ context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
				if counts := len(r.Success) - len(r.Failure); isReservation(r) && counts > 1 && string(r.Success[counts-1].GetRequestPut().Key) != stateKey {
					r = &etcdserverpb.TxnRequest{Compare: r.Compare, Success: r.Success[1:], Failure: r.Failure}
					answer, err := send(r)
					if err == nil && answer.Succeeded {
						answer.Responses = append([]*etcdserverpb.ResponseOp{nil}, answer.Responses...)
					}
					return answer, err
				}
				return send(r)
			}}
		},
	},
	{
		name: "that the revision has gone back is not seen", law: "restored",
		kv: func(c *client) etcdserverpb.KVClient {
			var mu sync.Mutex
			var most int64
			return wrongKV{c, func(_ context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
				answer, err := send(r)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				most = max(most, answer.Header.Revision)
				answer.Header = &etcdserverpb.ResponseHeader{ClusterId: 1, Revision: most}
				return answer, nil
			}}
		},
	},
}

// recycledMutants are series on etcd that are wrong in one way each.
var recycledMutants = []mutant{
	{
		name: "nothing is compared", law: "unique",
		kv: without(func(context.Context, *etcdserverpb.Compare) bool { return true }),
	},
	{
		name: "a transaction without an answer is sent again as it must be", law: "unique",
		kv: unanswered(func(_ *client, r *etcdserverpb.TxnRequest, send sender, _ error) (*etcdserverpb.TxnResponse, error) {
			return send(&etcdserverpb.TxnRequest{Success: r.Success, Failure: r.Failure})
		}),
	},
	{
		name: "the owner is not compared in a reservation", law: "owned",
		kv: without(func(ctx context.Context, c *etcdserverpb.Compare) bool {
			return ctx.Value(purpose{}) == toMove && isSeries(string(c.Key))
		}),
	},
	{
		name: "a lease is not looked at", law: "leased",
		kv: func(c *client) etcdserverpb.KVClient {
			return wrongKV{c, func(_ context.Context, r *etcdserverpb.TxnRequest, send sender) (*etcdserverpb.TxnResponse, error) {
				answer, err := send(&etcdserverpb.TxnRequest{Success: r.Success, Failure: r.Failure,
					Compare: slices.DeleteFunc(slices.Clone(r.Compare), func(c *etcdserverpb.Compare) bool { return isLease(string(c.Key)) })})
				if err != nil {
					return nil, err
				}
				for _, one := range answer.Responses {
					if found := one.GetResponseRange(); found != nil && len(found.Kvs) > 0 && isLease(string(found.Kvs[0].Key)) {
						found.Kvs = nil
					}
				}
				return answer, nil
			}}
		},
	},
	{
		name: "a state that was deleted and made again is trusted", law: "apart",
		kv: without(func(_ context.Context, c *etcdserverpb.Compare) bool { return len(c.RangeEnd) > 0 }),
	},
}

// leasedMutants are leased numbers on etcd that are wrong in one way each.
var leasedMutants = []mutant{
	{
		name: "the revision is compared without the value", law: "marked",
		kv: without(func(_ context.Context, c *etcdserverpb.Compare) bool { return c.Target == etcdserverpb.Compare_VALUE }),
	},
	{
		name: "a lease is believed for longer than it was granted", law: "late",
		leases: func(c *client) etcdserverpb.LeaseClient { return shortLeases{c} },
	},
	{
		name: "the mark is raised after the keys", law: "marked",
		marker: func(inner keysource.Marker) keysource.Marker {
			var last int64
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := inner.Mark(ctx, last)
				if last > 0 {
					before = last
				}
				last = until
				return before, err
			})
		},
	},
}

// markFunc is a Marker that does something wrong.
type markFunc func(ctx context.Context, until int64) (int64, error)

func (f markFunc) Mark(ctx context.Context, until int64) (int64, error) { return f(ctx, until) }

// shortLeases asks for the least time that there is, whatever was wanted.
type shortLeases struct{ *client }

func (s shortLeases) LeaseGrant(ctx context.Context, _ *etcdserverpb.LeaseGrantRequest, o ...grpc.CallOption) (*etcdserverpb.LeaseGrantResponse, error) {
	return s.client.LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{TTL: leastLease}, o...)
}

// TestEtcdMutants: the simulation finds every mutant.
func TestEtcdMutants(t *testing.T) {
	find := func(kind string, mutants []mutant, trial func(mutant) *sim.Trial) {
		for _, m := range testturn.Some(t, mutants, 3) {
			t.Run(kind+": "+m.name, func(t *testing.T) { trial(m).Find(t, m.law, 10_000) })
		}
	}
	find("sequence", sequenceMutants, sequenceTrial)
	find("recycled", recycledMutants, recycledTrial)
	find("leased", leasedMutants, leasedTrial)
}
