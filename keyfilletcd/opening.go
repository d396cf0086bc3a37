package keyfilletcd

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// A new series (a range of integers that one process owns) is made in one transaction: it
// moves the state (the stored counter) past the series, and writes the key of the series.
// With two transactions, etcd could count the series, as it counts the blocks of a
// sequence. But the key of a series is named by its first integer, which would be known
// only after the first transaction: a process that is killed between the two transactions
// would lose a series. For workers' numbers, each of which is a series, there are only few.
//
// So one process at a time can move the state. A process that finds that another one has
// moved it writes a key that says that it waits. The next process to move the state also
// writes a series for each waiting process. So hundreds of processes that begin at once
// need only a few transactions.

// mostServed is the greatest number of other owners for which one transaction makes series
// (ranges of integers). Each owner takes three operations, and etcd accepts 128 in a
// transaction unless its settings say otherwise.
const mostServed = 32

// waits is the value of the key of an owner that waits for a new series (a range of
// integers). etcd removes the key with the owner's lease.
type waits struct {
	Owner string `json:"owner"`
	Seen  int64  `json:"seen"` // no integer of the series may be below it
	Size  int64  `json:"size"` // how many integers the series shall have
}

// waiting is an owner that waits for a new series (a range of integers), as its key in etcd
// says.
type waiting struct {
	waits
	key   string
	since int64 // revision
	lease clientv3.LeaseID
}

// waiters returns the prefix of the keys of all owners that wait.
func (s *series) waiters() string { return s.store.key("waiting", s.counter.state.Name) + "/" }

// waiter returns the key that says that this owner waits.
func (s *series) waiter() string {
	return s.store.key("waiting", s.counter.state.Name, s.owner.Owner)
}

// queue returns the other owners that wait, in the order in which they began to wait.
func (s *series) queue(all []*mvccpb.KeyValue) (others []waiting) {
	for _, kv := range all {
		one := waiting{key: string(kv.Key), since: kv.ModRevision, lease: clientv3.LeaseID(kv.Lease)}
		if one.key != s.waiter() && one.lease != 0 && json.Unmarshal(kv.Value, &one.waits) == nil {
			others = append(others, one)
		}
	}
	slices.SortFunc(others, func(a, b waiting) int { return cmp.Compare(a.since, b.since) })
	return others
}

// wait writes the key that says that this owner waits, and returns all keys of the state (a
// stored counter), read in the same transaction.
func (s *series) wait(ctx context.Context, seen int64, id clientv3.LeaseID) (view, error) {
	text, err := json.Marshal(waits{s.owner.Owner, seen, s.owner.Size})
	if err != nil {
		return view{}, err
	}
	return s.look(ctx, clientv3.OpPut(s.waiter(), string(text), clientv3.WithLease(id)))
}

// noneFrom returns the condition that no series (a range of integers) contains first or a
// greater integer. All series of a state have the same size, so a series that contains
// first begins less than one size below it.
func (s *series) noneFrom(first int64) clientv3.Cmp {
	end := clientv3.GetPrefixRangeEnd(s.store.key("series", s.counter.state.Name) + "/")
	return absent(s.rowKey(max(first-s.owner.Size, 0) + 1)).WithRange(end)
}

// Open makes a new series (a range of integers), in a transaction that compares the state.
// The transaction also makes the series of owners that wait. If another process has moved
// the state, Open writes that it waits, and returns the series that another process then
// makes for it, or makes the series in its next attempt.
func (s *series) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	var v view
	fresh := false // whether v was read in this call
	if known := s.counter.known.Load(); known != nil {
		v.state = *known
	}
	var id clientv3.LeaseID
	from := int64(math.MaxInt64) // the state's next integer at the beginning of this call: a series that another process makes for this owner begins there or above
	waits := false               // whether the key that says that this owner waits was written
	for try := 0; ; {
		if v.state.revision == 0 {
			if _, err := s.counter.make(ctx); err != nil {
				return keysource.Series{}, err
			}
			var err error
			if v, err = s.look(ctx); err != nil {
				return keysource.Series{}, err
			}
			fresh = true
			continue
		}
		if id == 0 {
			var err error
			if id, err = s.lease.renew(ctx); err != nil {
				return keysource.Series{}, err
			}
		}
		made, text, wanted, err := s.plan(v, seen, id)
		if err != nil || text == "" {
			if fresh {
				return made, err
			}
			// v may be old, since it was remembered from an earlier call, so read again.
			if v, err = s.look(ctx); err != nil {
				return keysource.Series{}, err
			}
			fresh = true
			continue
		}
		from = min(from, made.First)
		first := !waits
		now, opened, err := s.counter.swap(ctx, v.state, text, wanted)
		switch {
		case opened:
			return made, nil
		case err == nil && fresh && now == v.state:
			return keysource.Series{}, stateError(s.counter.state.Name, errUncounted)
		case err == nil && !waits:
			v, err = s.wait(ctx, seen, id)
			waits = err == nil
		case err == nil:
			try++
			if err = s.store.pause(ctx, try); err == nil {
				v, err = s.look(ctx)
			}
		}
		if isLost(err) { // the lease of this owner, or of an owner that waits, has expired
			id, waits = 0, false
			v, err = s.look(ctx)
		}
		if err != nil {
			return keysource.Series{}, err
		}
		fresh = true
		if own := s.own(slices.DeleteFunc(v.rows, func(one found) bool { return one.First < from || one.row.Next > one.First })); own.First > 0 {
			if first && waits { // the series (a range of integers) was made for an earlier call of Open that had failed, so remove the key that says that this owner waits
				_, err = s.store.transact(ctx, nil, []clientv3.Op{clientv3.OpDelete(s.waiter())}, nil)
			}
			return own, err
		}
	}
}

// plan returns the new series (a range of integers), the new value of the state, and the
// further conditions and operations of the transaction. If the next integer of the state is
// below seen, plan makes no series: text is empty, and made holds that integer.
func (s *series) plan(v view, seen int64, id clientv3.LeaseID) (made keysource.Series, text string, wanted change, err error) {
	state, err := s.counter.parse(v.state)
	if err != nil {
		return keysource.Series{}, "", change{}, err
	}
	first := state.Base
	switch {
	case first < seen:
		return keysource.Series{First: first}, "", change{}, nil
	case first > s.counter.max-s.owner.Size+1:
		return keysource.Series{}, "", change{}, keysource.ErrExhausted
	}
	wanted.also = []clientv3.Cmp{s.noneFrom(first)}
	all := []waiting{{waits: waits{s.owner.Owner, seen, s.owner.Size}, key: s.waiter(), lease: id}}
	for _, one := range append(all, v.waiting[:min(len(v.waiting), mostServed)]...) {
		switch {
		case state.Base < one.Seen, one.Size != s.owner.Size, state.Base > s.counter.max-s.owner.Size+1:
			continue // no series (a range of integers) fits for this owner, which finds that out itself
		}
		of := row{Last: state.Base + s.owner.Size - 1, Next: state.Base, Owner: one.Owner, Epoch: 1}
		value, err := json.Marshal(of)
		if err != nil {
			return keysource.Series{}, "", change{}, err
		}
		wanted.then = append(wanted.then,
			clientv3.OpPut(s.rowKey(of.Next), string(value)),
			clientv3.OpPut(s.leaseKey(of.Next), one.Owner, clientv3.WithLease(one.lease)),
			clientv3.OpDelete(one.key))
		state.Base += s.owner.Size
	}
	value, err := json.Marshal(state)
	made = keysource.Series{First: first, Last: first + s.owner.Size - 1, Next: first, Epoch: 1, Own: true}
	return made, string(value), wanted, err
}
