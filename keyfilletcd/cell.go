package keyfilletcd

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// version is the value of a key in etcd when it was read.
type version struct {
	value    string
	revision int64 // the revision of the last change; 0 if the key does not exist
	created  int64 // the revision at which the key was created
}

// holds returns the conditions under which no process has changed a key since it was read.
// They compare the value too, since a cluster that was restored from a snapshot counts its
// revisions again from an earlier one.
func (v version) holds(key string) []clientv3.Cmp {
	if v.revision == 0 {
		return []clientv3.Cmp{absent(key)}
	}
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(key), "=", v.revision),
		clientv3.Compare(clientv3.Value(key), "=", v.value),
	}
}

// absent returns the condition that a key does not exist.
func absent(key string) clientv3.Cmp { return clientv3.Compare(clientv3.CreateRevision(key), "=", 0) }

// versionOf returns the version of the key that a request for one key has found.
func versionOf(r *etcdserverpb.RangeResponse) version {
	if len(r.Kvs) == 0 {
		return version{}
	}
	kv := r.Kvs[0]
	return version{string(kv.Value), kv.ModRevision, kv.CreateRevision}
}

// cell is a key in etcd whose new value depends on the present one.
type cell struct {
	store *store
	key   string

	// known is the key as it was read or written last, so that a change needs one round
	// trip while no other process changes the key. It is nil until the key is read.
	known atomic.Pointer[version]
}

func (s *store) cell(folder string, parts ...string) *cell {
	return &cell{store: s, key: s.key(folder, parts...)}
}

// change is the requested change of a cell.
type change struct {
	value any // the new value, which is written as JSON; if it is nil, the key is not changed

	// also are further conditions of the transaction that makes the change, then are its
	// further operations.
	also []clientv3.Cmp
	then []clientv3.Op
}

// replace replaces the value of a cell by the result of decide, in a transaction that
// changes nothing if the cell has changed since decide saw it; then replace calls decide
// again. If decide wants no change or returns an error, replace accepts that only if it has
// read the cell in this call, since the remembered value may be old. changed is false if
// decide wanted no change, or if one of its further conditions does not hold.
func (c *cell) replace(ctx context.Context, decide func(now version) (change, error)) (changed bool, err error) {
	var now version
	fresh := false
	if known := c.known.Load(); known != nil {
		now = *known
	} else if now, err = c.read(ctx); err != nil {
		return false, err
	} else {
		fresh = true
	}
	for try := 0; ; try++ {
		wanted, err := decide(now)
		if err != nil || wanted.value == nil {
			if fresh {
				return false, err
			}
			if now, err = c.read(ctx); err != nil {
				return false, err
			}
			fresh = true
			continue
		}
		text, err := json.Marshal(wanted.value)
		if err != nil {
			return false, err
		}
		before := now
		if now, changed, err = c.swap(ctx, before, string(text), wanted); changed || err != nil {
			return changed, err
		}
		if fresh && now == before {
			return false, nil
		}
		if err := c.store.pause(ctx, try); err != nil {
			return false, err
		}
		// Other processes have changed the key during the pause. So read it first: a read
		// is cheap, while even a transaction whose conditions fail goes through the log of
		// the cluster.
		if now, err = c.read(ctx); err != nil {
			return false, err
		}
		fresh = true
	}
}

// swap writes a value if the cell has not changed since it was read as before. It returns
// the cell as it is now.
func (c *cell) swap(ctx context.Context, before version, text string, wanted change) (now version, changed bool, err error) {
	answer, err := c.store.transact(ctx,
		append(before.holds(c.key), wanted.also...),
		append([]clientv3.Op{clientv3.OpPut(c.key, text)}, wanted.then...),
		[]clientv3.Op{clientv3.OpGet(c.key)})
	if err != nil {
		return version{}, false, err
	}
	if answer.Succeeded {
		now = version{text, answer.Header.Revision, before.created}
		if before.revision == 0 {
			now.created = now.revision
		}
	} else {
		now = versionOf(answer.Responses[0].GetResponseRange())
	}
	c.known.Store(&now)
	return now, answer.Succeeded, nil
}

// read returns the cell as it is now.
func (c *cell) read(ctx context.Context) (version, error) {
	answer, err := c.store.transact(ctx, nil, []clientv3.Op{clientv3.OpGet(c.key)}, nil)
	if err != nil {
		return version{}, err
	}
	now := versionOf(answer.Responses[0].GetResponseRange())
	c.known.Store(&now)
	return now, nil
}

// transact sends one transaction. It requires a leader, so that a member that has lost its
// connections to the other members returns an error at once. After an error the transaction
// may have happened.
func (s *store) transact(ctx context.Context, hold []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	var before mark
	var answer *clientv3.TxnResponse
	err := s.ask(ctx, func(ctx context.Context, c *connection) (err error) {
		before = s.seen.now()
		answer, err = c.kv.Txn(clientv3.WithRequireLeader(ctx)).If(hold...).Then(then...).Else(otherwise...).Commit()
		return err
	})
	if err != nil {
		return nil, err
	}
	s.seen.note(before, answer.Header, answer.Succeeded && slices.ContainsFunc(then, clientv3.Op.IsPut))
	return answer, nil
}

// firstPause is the upper limit of the first pause between two tries. The limit doubles
// with each try, at most ten times.
const firstPause = 2 * time.Millisecond

// pause waits for a random time, whose limit doubles with each try up to two seconds. If
// hundreds of processes change the same key, only one succeeds at a time, so few should try
// at once.
func (s *store) pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(s.random.Int64N(int64(firstPause<<min(try, 10)))) + 1)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
