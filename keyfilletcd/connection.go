package keyfilletcd

import (
	"math/rand/v2"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// connection is the part of a client of etcd that this package uses. The simulator
// implements it with a simulated cluster.
type connection struct {
	kv      clientv3.KV
	grants  clientv3.Lease           // makes leases
	renews  etcdserverpb.LeaseClient // renews the leases that grants has made
	reached func(error) error        // returns why no server is connected, or its argument: see link.reached
	close   func() error
}

// connect makes a client of one member of the cluster. It stores the client's connection in
// l.
func connect(c clientv3.Config, l *link) (*connection, error) {
	c.DialOptions = append(slices.Clip(c.DialOptions), l.option())
	if c.TLS != nil {
		c.DialOptions = append(c.DialOptions, grpc.WithTransportCredentials(watched{credentials.NewTLS(c.TLS), l}))
	}
	client, err := clientv3.New(c)
	if err != nil {
		return nil, err
	}
	servers := client.ActiveConnection()
	l.conn.Store(servers)
	return &connection{
		kv: client, grants: client, renews: etcdserverpb.NewLeaseClient(servers),
		reached: l.reached,
		close:   client.Close,
	}, nil
}

// chance makes random numbers from the random source of the process.
type chance struct{}

func (chance) Uint64() uint64 { return rand.Uint64() }
