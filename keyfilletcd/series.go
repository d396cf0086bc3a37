package keyfilletcd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// row is the stored value of a series: a range of integers that one owner has.
type row struct {
	Last  int64  `json:"last"`
	Next  int64  `json:"next"`  // the lowest integer that is not reserved
	Owner string `json:"owner"` // the owner of the series; empty if it was given up
	Epoch int64  `json:"epoch"` // how many owners the series has had
}

// series gives one owner access to the series (ranges of integers) of a state (a stored
// counter). The lease of a series has a key, which etcd removes when the lease ends.
type series struct {
	store   *store
	counter *counter
	owner   keysource.SeriesOwner
	lease   lease

	mu    sync.Mutex
	cells map[int64]*cell // the keys of the series that this owner has, by the first integer
}

var _ keysource.SeriesStore = (*series)(nil)

func newSeries(s *store, st keysource.State, o keysource.SeriesOwner) *series {
	return &series{
		store: s, counter: s.counter(st, "series"), owner: o, lease: lease{store: s, time: o.Lease},
		cells: map[int64]*cell{},
	}
}

// part returns the name of a series (a range of integers) below the name of its state: its
// first integer, with leading zeros, so that the keys are in the order of the integers.
func part(first int64) string { return fmt.Sprintf("%019d", first) }

func (s *series) rowKey(first int64) string {
	return s.store.key("series", s.counter.state.Name, part(first))
}

func (s *series) leaseKey(first int64) string {
	return s.store.key("leases", s.counter.state.Name, part(first))
}

// row returns the key of a series (a range of integers) as a cell.
func (s *series) row(first int64) *cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[first]
	if c == nil {
		c = s.store.cell("series", s.counter.state.Name, part(first))
		s.cells[first] = c
	}
	return c
}

// forget drops the remembered data of a series (a range of integers) that is not this
// owner's any more.
func (s *series) forget(first int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, first)
}

// parse decodes a series (a range of integers) from its key.
func (s *series) parse(first int64, v version) (one keysource.Series, of row, err error) {
	if v.revision == 0 {
		return keysource.Series{}, row{}, nil
	}
	if json.Unmarshal([]byte(v.value), &of) != nil || of.Next < first || of.Last < first {
		return keysource.Series{}, row{}, stateError(s.counter.state.Name, errValue)
	}
	return keysource.Series{First: first, Last: of.Last, Next: of.Next, Epoch: of.Epoch, Own: of.Owner == s.owner.Owner && of.Owner != ""}, of, nil
}

// found is a series (a range of integers) that was read together with all other series of
// its state.
type found struct {
	keysource.Series
	row
	version
	leased bool
}

// view holds all keys that belong to a state (a stored counter), as one transaction has
// read them.
type view struct {
	state   version
	rows    []found   // the series of the state, in ascending order
	waiting []waiting // other owners that wait for a new series
}

// all returns the series (ranges of integers) of the state in ascending order. It returns
// an error if the state must not be used.
func (s *series) all(ctx context.Context) (state version, rows []found, err error) {
	v, err := s.look(ctx)
	return v.state, v.rows, err
}

// look executes writes and then reads all keys of the state (a stored counter), in one
// transaction. It returns an error if the state must not be used.
func (s *series) look(ctx context.Context, writes ...clientv3.Op) (v view, err error) {
	name := s.counter.state.Name
	folder, leases := s.store.key("series", name)+"/", s.store.key("leases", name)+"/"
	answer, err := s.store.transact(ctx, nil, append(writes,
		clientv3.OpGet(s.counter.key),
		clientv3.OpGet(folder, clientv3.WithPrefix()),
		clientv3.OpGet(leases, clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(s.waiters(), clientv3.WithPrefix()),
	), nil)
	if err != nil {
		return view{}, err
	}
	answers := answer.Responses[len(writes):]
	if v.state = versionOf(answers[0].GetResponseRange()); v.state.revision != 0 {
		if _, err := s.counter.parse(v.state); err != nil {
			return view{}, err
		}
	}
	s.counter.known.Store(&v.state)
	leased := map[string]bool{}
	for _, kv := range answers[2].GetResponseRange().Kvs {
		leased[string(kv.Key[len(leases):])] = true
	}
	for _, kv := range answers[1].GetResponseRange().Kvs {
		digits := string(kv.Key[len(folder):])
		first, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || first < 1 {
			return view{}, stateError(name, errValue)
		}
		one := found{version: version{string(kv.Value), kv.ModRevision, kv.CreateRevision}, leased: leased[digits]}
		if one.Series, one.row, err = s.parse(first, one.version); err != nil {
			return view{}, err
		}
		v.rows = append(v.rows, one)
	}
	v.waiting = s.queue(answers[3].GetResponseRange().Kvs)
	return v, nil
}

// Own returns the lowest series (a range of integers) that this owner has.
func (s *series) Own(ctx context.Context) (keysource.Series, error) {
	_, rows, err := s.all(ctx)
	return s.own(rows), err
}

// own returns the lowest of the given series (a range of integers) that belongs to this
// owner, or the zero Series if none does.
func (s *series) own(rows []found) keysource.Series {
	for _, one := range rows {
		if one.Series.Own {
			s.row(one.First).known.Store(&one.version)
			return one.Series
		}
	}
	return keysource.Series{}
}

// checked returns the state (a stored counter) after a check that it may be used. A
// remembered state was checked when it was read.
func (s *series) checked(ctx context.Context) (version, error) {
	if known := s.counter.known.Load(); known != nil && known.revision != 0 {
		return *known, nil
	}
	state, err := s.counter.read(ctx)
	if err != nil {
		return version{}, err
	}
	if state.revision == 0 {
		return version{}, stateError(s.counter.state.Name, errGone)
	}
	_, err = s.counter.parse(state)
	return state, err
}

// Move reserves integers of a series (a range of integers) and renews its lease, in one
// transaction that compares the owner and the next integer of the series.
func (s *series) Move(ctx context.Context, one keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	for {
		state, err := s.checked(ctx)
		if err != nil {
			return keysource.Series{}, false, err
		}
		id, err := s.lease.renew(ctx)
		if err != nil {
			return keysource.Series{}, false, err
		}
		wanted := false
		moved, err = s.row(one.First).replace(ctx, func(v version) (change, error) {
			var of row
			var err error
			now, of, err = s.parse(one.First, v)
			wanted = err == nil && now.Own && now.Epoch == one.Epoch && now.Next == one.Next
			if !wanted {
				return change{}, err
			}
			of.Next = to
			return change{
				value: of, also: []clientv3.Cmp{isThere(s.counter.key, state)},
				then: []clientv3.Op{s.hold(one.First, id)},
			}, nil
		})
		switch {
		case isLost(err):
			s.lease.drop(id)
			continue
		case err != nil:
			return keysource.Series{}, false, err
		case moved:
			now.Next = to
		case wanted: // the state was deleted and created again, so read it again
			s.counter.known.Store(nil)
			continue
		case !now.Own:
			s.forget(one.First)
		}
		return now, moved, nil
	}
}

// hold returns the operation that makes a series (a range of integers) this owner's until
// the lease ends.
func (s *series) hold(first int64, id clientv3.LeaseID) clientv3.Op {
	return clientv3.OpPut(s.leaseKey(first), s.owner.Owner, clientv3.WithLease(id))
}

// TakeOver gives this owner the lowest series (a range of integers) that has no lease. If
// another process takes that series first, TakeOver tries the other series in random order:
// hundreds of processes that begin at once, each of which wants a worker's number, would
// otherwise compete for each series in turn.
func (s *series) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	for try := 0; ; try++ {
		state, rows, err := s.all(ctx)
		if err != nil {
			return keysource.Series{}, err
		}
		var free []found
		for _, one := range rows {
			switch {
			case one.leased:
			case one.row.Next > one.row.Last:
				if err := s.sweep(ctx, one); err != nil {
					return keysource.Series{}, err
				}
			case one.row.Last-one.row.Next+1 >= n:
				free = append(free, one)
			}
		}
		if len(free) == 0 {
			return keysource.Series{}, nil
		}
		rest := free[1:]
		s.store.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		id, err := s.lease.renew(ctx)
		if err != nil {
			return keysource.Series{}, err
		}
		for _, one := range free {
			taken, err := s.take(ctx, state, one, id)
			if isLost(err) {
				s.lease.drop(id)
				break // try again with a new lease
			}
			if err != nil || taken.First > 0 {
				return taken, err
			}
		}
		if err := s.store.pause(ctx, try); err != nil {
			return keysource.Series{}, err
		}
	}
}

// take makes a series (a range of integers) this owner's, unless another owner has taken it
// meanwhile.
func (s *series) take(ctx context.Context, state version, one found, id clientv3.LeaseID) (keysource.Series, error) {
	wanted := change{
		also: []clientv3.Cmp{absent(s.leaseKey(one.First)), isThere(s.counter.key, state)},
		// An earlier attempt to open a series (a range of integers) may have left the key
		// that says that this owner waits.
		then: []clientv3.Op{s.hold(one.First, id), clientv3.OpDelete(s.waiter())},
	}
	of := one.row
	of.Owner = s.owner.Owner
	of.Epoch++
	text, err := json.Marshal(of)
	if err != nil {
		return keysource.Series{}, err
	}
	now, taken, err := s.row(one.First).swap(ctx, one.version, string(text), wanted)
	if err != nil {
		return keysource.Series{}, err
	}
	if !taken {
		s.forget(one.First)
		return keysource.Series{}, nil
	}
	mine, _, err := s.parse(one.First, now)
	return mine, err
}

// sweep removes a series (a range of integers) that is used up and abandoned.
func (s *series) sweep(ctx context.Context, one found) error {
	_, err := s.store.transact(ctx,
		append(one.version.holds(s.rowKey(one.First)), absent(s.leaseKey(one.First))),
		[]clientv3.Op{clientv3.OpDelete(s.rowKey(one.First))}, nil)
	s.forget(one.First)
	return err
}

// GiveUp ends the right of this owner to a series (a range of integers), and gives back its
// unused integers.
func (s *series) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	defer s.forget(one.First)
	return s.store.persist(ctx, func() error { return s.giveUp(ctx, one, to) })
}

func (s *series) giveUp(ctx context.Context, one keysource.Series, to int64) error {
	for try := 0; ; try++ {
		v, err := s.row(one.First).read(ctx)
		if err != nil {
			return err
		}
		now, of, err := s.parse(one.First, v)
		if err != nil || !now.Own || now.Epoch != one.Epoch {
			return err
		}
		if of.Next == one.Next {
			of.Next = to
		}
		of.Owner = ""
		text, err := json.Marshal(of)
		if err != nil {
			return err
		}
		key := s.rowKey(one.First)
		then := []clientv3.Op{clientv3.OpPut(key, string(text)), clientv3.OpDelete(s.leaseKey(one.First))}
		if of.Next > of.Last {
			then[0] = clientv3.OpDelete(key)
		}
		answer, err := s.store.transact(ctx, v.holds(key), then, nil)
		if err != nil || answer.Succeeded {
			return err
		}
		if err := s.store.pause(ctx, try); err != nil {
			return err
		}
	}
}

// Advance makes the next new series (a range of integers) begin at to or above.
func (s *series) Advance(ctx context.Context, to int64) error {
	return s.store.persist(ctx, func() error { return s.counter.advance(ctx, to) })
}
