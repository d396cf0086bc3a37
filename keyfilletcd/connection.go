package keyfilletcd

import (
	"context"
	"errors"
	"math/rand/v2"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/connectivity"
)

// connection is what the states use of a client of etcd. In the simulator a cluster that is
// simulated stands behind it.
type connection struct {
	kv     clientv3.KV
	grants clientv3.Lease           // makes leases
	renews etcdserverpb.LeaseClient // renews them
	ready  func() bool              // reports whether a server is connected
	close  func() error
}

// connect makes a client of one member.
func connect(c clientv3.Config) (*connection, error) {
	client, err := clientv3.New(c)
	if err != nil {
		return nil, err
	}
	servers := client.ActiveConnection()
	return &connection{
		kv: client, grants: client, renews: etcdserverpb.NewLeaseClient(servers),
		ready: func() bool { return servers.GetState() == connectivity.Ready },
		close: client.Close,
	}, nil
}

// reached returns what it means that the time for an answer is over: the client waits for a
// connection without saying that there is none.
func (c *connection) reached(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !c.ready() {
		return errReach
	}
	return err
}

// chance is the random numbers of the process.
type chance struct{}

func (chance) Uint64() uint64 { return rand.Uint64() }
