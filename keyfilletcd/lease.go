package keyfilletcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lease is the lease of one owner in etcd. etcd counts the time of a lease in whole
// seconds. A lease may last longer than was asked for, since etcd has a minimum, and starts
// the time again after an election of a leader.
type lease struct {
	store *store
	time  time.Duration

	mu sync.Mutex // guards id; not held during a request to etcd
	id clientv3.LeaseID
}

// renew makes the lease last its whole time from now on, or takes a new one if it has
// expired.
func (l *lease) renew(ctx context.Context) (clientv3.LeaseID, error) {
	l.mu.Lock()
	id := l.id
	l.mu.Unlock()
	if id != 0 {
		lasts := false
		err := l.store.ask(ctx, func(ctx context.Context, c *connection) (err error) {
			lasts, err = keepAlive(ctx, c.renews, id)
			return err
		})
		if err != nil || lasts {
			return id, err
		}
	}
	seconds := int64((l.time + time.Second - 1) / time.Second)
	var granted *clientv3.LeaseGrantResponse
	err := l.store.ask(ctx, func(ctx context.Context, c *connection) (err error) {
		granted, err = c.grants.Grant(clientv3.WithRequireLeader(ctx), max(seconds, 1))
		return err
	})
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = granted.ID
	return granted.ID, nil
}

// drop forgets a lease that has expired, so that the next renew takes a new one.
func (l *lease) drop(id clientv3.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == id {
		l.id = 0
	}
}

// keepAlive renews a lease once, and reports whether the lease was still there. It replaces
// the method of clientv3, which retries without a pause while no server can be reached.
func keepAlive(ctx context.Context, client etcdserverpb.LeaseClient, id clientv3.LeaseID) (lasts bool, err error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	stream, err := client.LeaseKeepAlive(ctx)
	if err != nil {
		return false, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		_, err = stream.Recv() // Recv returns the reason why Send failed
		return false, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return false, err
	}
	return answer.TTL > 0, nil
}

// isLost reports whether a transaction has failed because its lease has run out. Such a
// transaction has changed nothing.
func isLost(err error) bool { return errors.Is(err, errLeaseGone) }
