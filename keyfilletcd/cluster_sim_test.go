package keyfilletcd_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keyfill/keyfill/internal/sim"
)

// The rows of the simulated server that hold a cluster of etcd: its revision, its keys by
// their names, and its leases.
const (
	revisionRow = "the revision"
	leaseRow    = "lease "
)

// item is a key of the cluster with its value.
type item struct {
	value             string
	created, modified int64 // revisions
	version           int64
	lease             int64 // 0: none
}

// incarnation is a random text in values, which the story of a world leaves out.
var incarnation = regexp.MustCompile(`,"incarnation":"\w*"|"parameters":"p",?`)

func (i item) String() string { return incarnation.ReplaceAllString(i.value, "") }

// granted is a lease of the cluster.
type granted struct{ seconds int64 }

func (g granted) String() string { return fmt.Sprintf("a lease of %d s", g.seconds) }

// leastLease is the least time of a lease of etcd with its default settings, in seconds.
const leastLease = 2

// expiryTick is how often the leader looks for leases that have run out.
const expiryTick = 500 * time.Millisecond

// cluster is a cluster of etcd in a world of the simulation: its keys and its revision are
// on the simulated server, and so are lost with its last commits, while the ends of leases
// are the leader's alone. What it answers is compared with real servers by TestCluster.
type cluster struct {
	// Guarded by the world, as transactions are.
	epoch  int                     // of the server, when the ends were last set
	ends   map[int64]time.Duration // of leases, by their numbers
	leases int64                   // the last number of a lease
}

func newCluster() *cluster { return &cluster{ends: map[int64]time.Duration{}} }

// begin is called before each request: after an election all leases last their whole time
// from then on, and those that have run out are removed with their keys.
func (c *cluster) begin(tx *sim.Tx, now time.Duration) {
	epoch, since := tx.Epoch()
	if epoch != c.epoch {
		c.epoch, c.ends = epoch, map[int64]time.Duration{}
		for row, value := range tx.All() {
			if lease, ok := value.(granted); ok {
				id, err := strconv.ParseInt(row[len(leaseRow):], 10, 64)
				if err != nil {
					panic(err)
				}
				c.ends[id] = since + time.Duration(lease.seconds)*time.Second
			}
		}
	}
	tick := now - (now-since)%expiryTick // when the leader has looked last
	for _, id := range slices.Sorted(maps.Keys(c.ends)) {
		switch row := leaseRow + strconv.FormatInt(id, 10); {
		case tx.Load(row) == nil:
			delete(c.ends, id)
		case tick > c.ends[id]:
			tx.Store(row, nil)
			c.expire(tx, id)
		}
	}
}

// expire removes the keys of a lease.
func (c *cluster) expire(tx *sim.Tx, id int64) {
	deleted := false
	for row, value := range tx.All() {
		if of, ok := value.(item); ok && of.lease == id {
			tx.Store(row, nil)
			deleted = true
		}
	}
	if deleted {
		tx.Set(revisionRow, revision(tx)+1)
	}
}

// revision returns the revision of the cluster, which is 1 at first.
func revision(tx *sim.Tx) int64 { return max(tx.Get(revisionRow), 1) }

func (c *cluster) header(tx *sim.Tx) *etcdserverpb.ResponseHeader {
	id := uint64(7)
	for _, b := range []byte(tx.Server()) { // another one after a failover
		id = id*31 + uint64(b)
	}
	return &etcdserverpb.ResponseHeader{ClusterId: id, Revision: revision(tx)}
}

// keys returns the keys from key to end, as etcd has these.
func keys(tx *sim.Tx, key, end []byte) []string {
	if len(end) == 0 {
		if _, ok := tx.Load(string(key)).(item); ok {
			return []string{string(key)}
		}
		return nil
	}
	var all []string
	for row, value := range tx.All() {
		if _, ok := value.(item); ok && row >= string(key) && row < string(end) {
			all = append(all, row)
		}
	}
	slices.Sort(all)
	return all
}

// holds reports whether a condition holds.
func holds(tx *sim.Tx, c *etcdserverpb.Compare) bool {
	all := keys(tx, c.Key, c.RangeEnd)
	if len(all) == 0 {
		// A key that is not there has no value, and the numbers of one are 0.
		return c.Target != etcdserverpb.Compare_VALUE && fits(c, item{})
	}
	for _, key := range all {
		if !fits(c, tx.Load(key).(item)) {
			return false
		}
	}
	return true
}

func fits(c *etcdserverpb.Compare, i item) bool {
	var order int
	switch c.Target {
	case etcdserverpb.Compare_VALUE:
		order = strings.Compare(i.value, string(c.GetValue()))
	case etcdserverpb.Compare_CREATE:
		order = cmp.Compare(i.created, c.GetCreateRevision())
	case etcdserverpb.Compare_MOD:
		order = cmp.Compare(i.modified, c.GetModRevision())
	case etcdserverpb.Compare_VERSION:
		order = cmp.Compare(i.version, c.GetVersion())
	default:
		panic("a condition that is not simulated")
	}
	switch c.Result {
	case etcdserverpb.Compare_EQUAL:
		return order == 0
	case etcdserverpb.Compare_GREATER:
		return order > 0
	case etcdserverpb.Compare_LESS:
		return order < 0
	}
	return order != 0
}

// transact does what a transaction asks for.
func (c *cluster) transact(tx *sim.Tx, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	succeeded := !slices.ContainsFunc(r.Compare, func(one *etcdserverpb.Compare) bool { return !holds(tx, one) })
	ops := r.Failure
	if succeeded {
		ops = r.Success
	}
	for _, op := range ops { // before anything is done
		if put := op.GetRequestPut(); put != nil && put.Lease != 0 && tx.Load(fmt.Sprint(leaseRow, put.Lease)) == nil {
			return nil, rpctypes.ErrGRPCLeaseNotFound
		}
	}
	answer := &etcdserverpb.TxnResponse{Succeeded: succeeded}
	next, changed := revision(tx)+1, false
	for _, op := range ops {
		one := &etcdserverpb.ResponseOp{}
		switch {
		case op.GetRequestRange() != nil:
			found := c.find(tx, op.GetRequestRange())
			one.Response = &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: found}
		case op.GetRequestPut() != nil:
			c.put(tx, op.GetRequestPut(), next)
			changed = true
			one.Response = &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{}}
		case op.GetRequestDeleteRange() != nil:
			gone := keys(tx, op.GetRequestDeleteRange().Key, op.GetRequestDeleteRange().RangeEnd)
			for _, key := range gone {
				tx.Store(key, nil)
				changed = true
			}
			one.Response = &etcdserverpb.ResponseOp_ResponseDeleteRange{
				ResponseDeleteRange: &etcdserverpb.DeleteRangeResponse{Deleted: int64(len(gone))}}
		default:
			panic("an operation that is not simulated")
		}
		answer.Responses = append(answer.Responses, one)
	}
	if changed {
		tx.Set(revisionRow, next)
		stand(tx)
	}
	answer.Header = c.header(tx)
	return answer, nil
}

func (c *cluster) find(tx *sim.Tx, r *etcdserverpb.RangeRequest) *etcdserverpb.RangeResponse {
	found := &etcdserverpb.RangeResponse{}
	for _, key := range keys(tx, r.Key, r.RangeEnd) {
		i := tx.Load(key).(item)
		kv := &mvccpb.KeyValue{Key: []byte(key), CreateRevision: i.created, ModRevision: i.modified, Version: i.version, Lease: i.lease}
		if !r.KeysOnly {
			kv.Value = []byte(i.value)
		}
		found.Kvs = append(found.Kvs, kv)
	}
	found.Count = int64(len(found.Kvs))
	return found
}

func (c *cluster) put(tx *sim.Tx, r *etcdserverpb.PutRequest, at int64) {
	i := item{value: string(r.Value), created: at, modified: at, version: 1, lease: r.Lease}
	if before, ok := tx.Load(string(r.Key)).(item); ok {
		i.created, i.version = before.created, before.version+1
	}
	tx.Store(string(r.Key), i)
}

// grant makes a lease.
func (c *cluster) grant(tx *sim.Tx, now time.Duration, seconds int64) *etcdserverpb.LeaseGrantResponse {
	seconds = max(seconds, leastLease)
	c.leases++
	tx.Store(fmt.Sprint(leaseRow, c.leases), granted{seconds})
	c.ends[c.leases] = now + time.Duration(seconds)*time.Second
	return &etcdserverpb.LeaseGrantResponse{Header: c.header(tx), ID: c.leases, TTL: seconds}
}

// renew lets a lease last its whole time from now on.
func (c *cluster) renew(tx *sim.Tx, now time.Duration, id int64) *etcdserverpb.LeaseKeepAliveResponse {
	answer := &etcdserverpb.LeaseKeepAliveResponse{Header: c.header(tx), ID: id}
	if lease, ok := tx.Load(fmt.Sprint(leaseRow, id)).(granted); ok {
		answer.TTL = lease.seconds
		c.ends[id] = now + time.Duration(lease.seconds)*time.Second
	}
	return answer
}

// purpose says in the story what a request is for.
type purpose struct{}

// client is a client of the cluster in one life of a process: it stands where gRPC does, so
// that all code above is the real one.
type client struct {
	etcdserverpb.KVClient    // nil: what is not here is not used
	etcdserverpb.LeaseClient // nil

	p       *sim.Process
	cluster *cluster

	mu       sync.Mutex
	seen     map[uint64]int64 // the greatest revisions of answers, by the clusters
	last     uint64           // cluster that has answered
	setbacks int              // answers that show that the cluster has gone back
}

func newClient(p *sim.Process) *client {
	return &client{p: p, cluster: p.World.Model.(*cluster), seen: map[uint64]int64{}}
}

// ask lets the cluster answer a request.
func ask[T interface {
	GetHeader() *etcdserverpb.ResponseHeader
}](ctx context.Context, c *client, f func(tx *sim.Tx, now time.Duration) (T, error)) (T, error) {
	type result struct {
		answer T
		err    error
	}
	what, _ := ctx.Value(purpose{}).(string)
	c.mu.Lock()
	before := c.seen[c.last]
	cluster := c.last
	c.mu.Unlock()
	line := c.p.Line()
	line.Repeats = true
	got, err := sim.Update(ctx, line, func(tx *sim.Tx) result {
		tx.Note(what, 0)
		c.cluster.begin(tx, c.p.World.Now())
		answer, err := f(tx, c.p.World.Now())
		return result{answer, err}
	})
	switch {
	case err == nil && got.err != nil:
		return got.answer, got.err
	case err != nil:
		return got.answer, reason(ctx, err)
	}
	header := got.answer.GetHeader()
	c.mu.Lock()
	defer c.mu.Unlock()
	back := header.ClusterId == cluster && header.Revision < before
	switch {
	case back && c.last == cluster && c.seen[cluster] >= before: // and no answer before has shown it
		c.setbacks++
		c.seen[cluster] = header.Revision
	case !back:
		c.seen[header.ClusterId] = max(c.seen[header.ClusterId], header.Revision)
	}
	c.last = header.ClusterId
	return got.answer, nil
}

// reason is what gRPC says of a request without an answer.
func reason(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, sim.ErrRefused):
		return rpctypes.ErrGRPCNoLeader
	case errors.Is(err, sim.ErrRolledBack): // the proposal was dropped
		return rpctypes.ErrGRPCTimeoutDueToLeaderFail
	case errors.Is(err, sim.ErrReset):
		return status.Error(codes.Unavailable, "error reading from server: EOF")
	}
	return err // the process was killed
}

// goneBack returns how many answers have shown that the cluster has gone back.
func (c *client) goneBack() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setbacks
}

func (c *client) Txn(ctx context.Context, r *etcdserverpb.TxnRequest, _ ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	return ask(ctx, c, func(tx *sim.Tx, _ time.Duration) (*etcdserverpb.TxnResponse, error) {
		return c.cluster.transact(tx, r)
	})
}

func (c *client) LeaseGrant(ctx context.Context, r *etcdserverpb.LeaseGrantRequest, _ ...grpc.CallOption) (*etcdserverpb.LeaseGrantResponse, error) {
	return ask(ctx, c, func(tx *sim.Tx, now time.Duration) (*etcdserverpb.LeaseGrantResponse, error) {
		return c.cluster.grant(tx, now, r.TTL), nil
	})
}

func (c *client) LeaseKeepAlive(ctx context.Context, _ ...grpc.CallOption) (grpc.BidiStreamingClient[etcdserverpb.LeaseKeepAliveRequest, etcdserverpb.LeaseKeepAliveResponse], error) {
	return &keepAlive{c: c, ctx: ctx}, nil
}

// keepAlive is a stream on which one lease is renewed once.
type keepAlive struct {
	grpc.ClientStream // nil
	c                 *client
	ctx               context.Context
	id                int64
}

func (k *keepAlive) Send(r *etcdserverpb.LeaseKeepAliveRequest) error {
	k.id = r.ID
	return nil
}

func (k *keepAlive) Recv() (*etcdserverpb.LeaseKeepAliveResponse, error) {
	return ask(k.ctx, k.c, func(tx *sim.Tx, now time.Duration) (*etcdserverpb.LeaseKeepAliveResponse, error) {
		return k.c.cluster.renew(tx, now, k.id), nil
	})
}
