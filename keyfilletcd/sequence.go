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

// numbers is the state (a stored counter) of a sequence. Processes that reserve at the same
// time do not wait for each other, since none of them writes the state's key. Instead each
// writes keys below counts: such a key (a count) has as its name how many integers one
// write of it reserves, and etcd counts the writes, as the key's version. The next integer
// is the state's base plus what all counts have reserved.
//
// A reservation of 1,320 integers writes the counts 1000, 300 and 20, and then reads the
// state and all counts, in one transaction. Its condition that the state is as it was read
// keeps a program with another kind or other parameters from reserving. The state holds the
// names of its counts, so that a deleted count is noticed: the process that writes a count
// for the first time changes the state.
type numbers struct {
	*counter
	counts string // the prefix of the keys of the counts

	// last is the sequence as it was in the last answer; nil if nothing is known.
	last atomic.Pointer[standing]
}

// standing is the state (a stored counter) of a sequence with its counts, as they were when
// they were read.
type standing struct {
	counted        // the state
	text    string // the value of the state's key

	next int64 // the lowest integer that is not reserved
	over bool  // whether the lowest integer that is not reserved is greater than any int64; next is then the greatest int64

	// least is the greatest value of a count's key: a reservation stores there the next
	// integer of the sequence, or a lower one. least is more than next only if the store
	// has gone back (its counter is lower than before), or if keys were copied without
	// their versions.
	least int64
}

// look returns the read operations for the state (a stored counter) and its counts.
// standing turns their results into a standing.
func (n *numbers) look() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(n.key), clientv3.OpGet(n.counts, clientv3.WithPrefix())}
}

// standing returns the sequence that the results of look describe; nil if the state (a
// stored counter) does not exist.
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

// plus returns base + each × times. If the sum is greater than any int64, it returns the
// greatest int64, and true.
func plus(base, each, times int64) (sum int64, over bool) {
	high, low := bits.Mul64(uint64(each), uint64(times))
	if high > 0 || low > uint64(math.MaxInt64-base) {
		return math.MaxInt64, true
	}
	return base + int64(low), false
}

// digits splits n into numbers with a single digit that is not 0: 1000, 300 and 20 for
// 1,320. They are the names of the counts to write, so that a state (a stored counter) has
// few counts, whatever is reserved.
func digits(n int64) (all []int64) {
	for place := int64(1); n > 0; place, n = place*10, n/10 {
		if digit := n % 10; digit > 0 {
			all = append(all, digit*place)
		}
	}
	return all
}

// read reads the sequence, and creates the state (a stored counter) if there is none.
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

// holds returns the condition that the key of the state (a stored counter) is as it was
// read. It does not compare the counts, which other processes may change meanwhile.
func (n *numbers) holds(now *standing) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(n.key), "=", now.text)
}

// add reserves count integers if the state (a stored counter) is as it was read. It returns
// the sequence after the reservation and the first reserved integer. If the state has
// changed, added is false, and then is the sequence as it is now.
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
	case then.over: // the sum is greater than any int64, so it is not known which integers were reserved
		return then, then.next, true, nil
	}
	return then, then.next - count, true, nil
}

// open returns the integers that a caller may use: from first up to the greatest one of the
// state (a stored counter), or an error. seen is above all integers that the caller has
// seen. If first is below seen, the state has gone back, and open returns no integers.
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

// Reserve reserves the integers after all that were reserved before, in one transaction. If
// the remembered state says that no integers are left, Reserve reads the state again before
// it reports that. If the store goes back to earlier data meanwhile, integers may be
// reserved that are never used.
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

// Advance raises the base of the state (a stored counter). If other processes reserve at
// the same time, the next integer is raised further.
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
