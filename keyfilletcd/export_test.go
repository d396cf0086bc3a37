package keyfilletcd

import (
	"math/rand/v2"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// NewStoreOfMembers returns a store whose members are asked by these clients, the first one
// first.
func NewStoreOfMembers(clients []etcdserverpb.KVClient) keysource.Store {
	s := newStore(clientv3.Config{}, DefaultPrefix)
	for _, kv := range clients {
		s.members = append(s.members, member{dialling: over(&connection{kv: clientv3.NewKVFromKVClient(kv, nil)})})
	}
	return s
}

// NewStoreOver returns a store whose requests go to these clients instead of gRPC's. Its
// random numbers come from a source that is safe for concurrent use.
func NewStoreOver(kv etcdserverpb.KVClient, leases etcdserverpb.LeaseClient, random rand.Source) keysource.Store {
	s := newStore(clientv3.Config{}, DefaultPrefix)
	s.random = rand.New(random)
	s.members = []member{{dialling: over(&connection{
		kv: clientv3.NewKVFromKVClient(kv, nil), grants: clientv3.NewLeaseFromLeaseClient(leases, nil, 0), renews: leases,
	})}}
	return s
}

// Asked returns the place of the member that a store asks next.
func Asked(st keysource.Store) int {
	s := st.(*store)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// over is what has come of dialling.
func over(c *connection) *dialling {
	c.reached = func(err error) error { return err }
	c.close = func() error { return nil }
	d := &dialling{done: make(chan struct{}), conn: c}
	close(d.done)
	return d
}
