package keyfilletcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Reach returns an error if the store cannot be used. It sends a change under a condition
// that is never true, so nothing is changed. "keyfill check" calls it.
func (s *store) Reach(ctx context.Context) error {
	key := s.key("states", "check")
	return s.persist(ctx, func() error {
		_, err := s.transact(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.Version(key), "<", 0)}, []clientv3.Op{clientv3.OpPut(key, "")}, nil)
		return err
	})
}
