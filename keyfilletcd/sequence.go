package keyfilletcd

import (
	"context"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// numbers is the state of a sequence. Processes that reserve at the same time do not wait for
// each other, since none of them writes the state's key: each key below counts is called as
// many integers as one write of it reserves, and etcd counts the writes, which is a key's
// version. The next integer is the state's base and the sum of what all counts have reserved.
//
// A reservation of 1,320 integers writes the keys 1000, 300 and 20, and then reads the
// state and all counts, in one transaction. Its condition that the state is as it was
// read keeps a program with another kind or other parameters from reserving. The state
// names its counts, so that a deleted count is noticed: the process that writes a count
// first changes the state.
type numbers struct {
	*counter
	counts string // begins the keys of the counts

	// last is where the sequence stood at the last answer; nil: nothing is known.
	last atomic.Pointer[standing]
}

// standing is where a sequence stood when it was read.
type standing struct {
	counted        // the state
	text    string // the value of its key

	next int64 // the lowest integer that is not reserved
	over bool  // it is greater than that, which is the greatest integer

	// least is the greatest value of the counts: a reservation stores there the integer
	// at which the sequence stood, or a lower one. It is more than next only if the store
	// has gone back, or if keys were copied without their versions.
	least int64
}

// look are the questions whose answers standing takes.
func (n *numbers) look() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(n.key), clientv3.OpGet(n.counts, clientv3.WithPrefix())}
}

// standing returns where the sequence stands, by the answers to look; nil: there is no state.
func (n *numbers) standing(answers []*etcdserverpb.ResponseOp) (*standing, error) {
	n.last.Store(nil)
	state := versionOf(answers[0].GetResponseRange())
	if state.revision == 0 {
		return nil, nil
	}
	of, err := n.parse(state)
	if err != nil {
		return nil, err
	}
	now := &standing{counted: of, text: state.value}
	now.next = now.Base
	missing := strings.Fields(now.Counts)
	for _, kv := range answers[1].GetResponseRange().Kvs {
		name := string(kv.Key[len(n.counts):])
		missing = slices.DeleteFunc(missing, func(s string) bool { return s == name })
		each, err := strconv.ParseInt(name, 10, 64)
		if err != nil || each < 1 {
			return nil, stateError(n.state.Name, errValue)
		}
		least, err := strconv.ParseInt(string(kv.Value), 10, 64)
		if err != nil {
			return nil, stateError(n.state.Name, errValue)
		}
		over := false
		now.next, over = plus(now.next, each, kv.Version)
		now.over = now.over || over
		now.least = max(now.least, least)
	}
	if len(missing) > 0 {
		return nil, stateError(n.state.Name, errNoCount)
	}
	n.last.Store(now)
	return now, nil
}

// plus returns base + each × times, or the greatest integer, and that the sum is over that.
func plus(base, each, times int64) (sum int64, over bool) {
	high, low := bits.Mul64(uint64(each), uint64(times))
	if high > 0 || low > uint64(math.MaxInt64-base) {
		return math.MaxInt64, true
	}
	return base + int64(low), false
}

// digits returns the numbers with one digit that is not 0 whose sum is n: 1000, 300 and 20
// for 1,320. So the counts of a state are few, whatever is reserved.
func digits(n int64) (all []int64) {
	for place := int64(1); n > 0; place, n = place*10, n/10 {
		if digit := n % 10; digit > 0 {
			all = append(all, digit*place)
		}
	}
	return all
}

// read asks where the sequence stands, and makes the state where there is none.
func (n *numbers) read(ctx context.Context) (*standing, error) {
	answer, err := n.store.transact(ctx, nil, n.look(), nil)
	if err != nil {
		return nil, err
	}
	now, err := n.standing(answer.Responses)
	for now == nil && err == nil {
		var answers []*etcdserverpb.ResponseOp
		if answers, err = n.make(ctx, n.look()...); err == nil {
			now, err = n.standing(answers)
		}
	}
	return now, err
}

// holds is the condition that the state is as it was read. Where it stands is not in it.
func (n *numbers) holds(now *standing) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(n.key), "=", now.text)
}

// add reserves count integers, if the state is as it was read, and returns where the sequence
// stands after that, and the first integer that was reserved. Where the state is another one
// it returns that, and that nothing was reserved.
func (n *numbers) add(ctx context.Context, now *standing, count int64) (then *standing, first int64, added bool, err error) {
	hold := []clientv3.Cmp{n.holds(now)}
	var writes []clientv3.Op
	state, least := now.counted, strconv.FormatInt(now.next, 10)
	for _, each := range digits(count) {
		name := strconv.FormatInt(each, 10)
		if slices.Contains(strings.Fields(state.Counts), name) {
			hold = append(hold, clientv3.Compare(clientv3.Version(n.counts+name), ">", 0))
		} else {
			state.Counts = strings.TrimSpace(state.Counts + " " + name)
		}
		writes = append(writes, clientv3.OpPut(n.counts+name, least))
	}
	if state != now.counted {
		text, err := json.Marshal(state)
		if err != nil {
			return nil, 0, false, err
		}
		writes = append(writes, clientv3.OpPut(n.key, string(text)))
	}
	answer, err := n.store.transact(ctx, hold, append(writes, n.look()...), n.look())
	if err != nil {
		return nil, 0, false, err
	}
	if !answer.Succeeded {
		then, err = n.standing(answer.Responses)
		return then, 0, false, err
	}
	then, err = n.standing(answer.Responses[len(writes):])
	switch {
	case err != nil:
		return nil, 0, false, err
	case then.over: // so that the reserved integers are not known
		return then, then.next, true, nil
	}
	return then, then.next - count, true, nil
}

// open returns which integers from first on a caller may have that has seen others below
// seen: all up to the greatest one of the state, or an error. If the state has gone back,
// first is below seen, and there are none.
func (n *numbers) open(now *standing, first, seen int64) (keysource.Reservation, error) {
	switch {
	case first < seen:
	case now.next < now.least:
		return keysource.Reservation{}, stateError(n.state.Name, errBelow)
	case first > n.max:
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	return keysource.Reservation{First: first, N: n.max - first + 1, Server: n.store.seen.server(now.Incarnation)}, nil
}

// Reserve reserves integers in one transaction. They follow all that were reserved
// before. If nothing can be reserved by the remembered state, Reserve reads the state
// before it returns that. If a store goes back at that moment, it can reserve integers
// that are never handed out.
func (n *numbers) Reserve(ctx context.Context, want, seen int64) (got keysource.Reservation, err error) {
	if want < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	now := n.last.Load()
	for try := 0; ; try++ {
		if now != nil {
			got, err = n.open(now, now.next, seen)
		}
		if now == nil || err != nil || got.First < seen {
			if now, err = n.read(ctx); err != nil {
				return keysource.Reservation{}, err
			}
			if got, err = n.open(now, now.next, seen); err != nil || got.First < seen {
				return got, err
			}
		}
		count := min(want, got.N)
		first, added := int64(0), false
		if now, first, added, err = n.add(ctx, now, count); err != nil {
			return keysource.Reservation{}, err
		}
		if added {
			got, err = n.open(now, first, seen)
			got.N = min(got.N, count)
			return got, err
		}
		if err := n.store.pause(ctx, try); err != nil {
			return keysource.Reservation{}, err
		}
	}
}

// Advance raises the base of the state. Reservations by others meanwhile raise it
// further.
func (n *numbers) Advance(ctx context.Context, to int64) error {
	return n.store.persist(ctx, func() error { return n.raise(ctx, to) })
}

func (n *numbers) raise(ctx context.Context, to int64) error {
	for try := 0; ; try++ {
		now, err := n.read(ctx)
		if err != nil {
			return err
		}
		to = max(to, now.least)
		if now.next >= to {
			return nil
		}
		raised := now.counted
		raised.Base += to - now.next
		text, err := json.Marshal(raised)
		if err != nil {
			return err
		}
		answer, err := n.store.transact(ctx, []clientv3.Cmp{n.holds(now)}, []clientv3.Op{clientv3.OpPut(n.key, string(text))}, nil)
		if err != nil || answer.Succeeded {
			n.last.Store(nil)
			return err
		}
		if err := n.store.pause(ctx, try); err != nil {
			return err
		}
	}
}
