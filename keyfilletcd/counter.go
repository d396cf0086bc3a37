package keyfilletcd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"math"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// counted is the value of a state that counts.
type counted struct {
	Kind        string `json:"kind"` // of the source
	Parameters  string `json:"parameters,omitempty"`
	Next        int64  `json:"next"`        // the lowest integer that is not reserved
	Incarnation string `json:"incarnation"` // another text for each state that was made
}

// counter is a state that counts, for one kind of source.
type counter struct {
	*cell
	state keysource.State
	kind  string
	max   int64 // the greatest integer that is reserved
}

func (s *store) counter(st keysource.State, kind string) *counter {
	// The next integer has to be one.
	return &counter{cell: s.cell("states", st.Name), state: st, kind: kind, max: min(st.Max, math.MaxInt64-1)}
}

// count replaces the state by what decide makes of it, see [cell.replace]. A state that
// is not there is made first.
func (c *counter) count(ctx context.Context, decide func(now counted) (counted, change, error)) (changed bool, err error) {
	for {
		missing := false
		changed, err := c.replace(ctx, func(v version) (change, error) {
			if missing = v.revision == 0; missing {
				return change{}, nil
			}
			now, err := c.parse(v)
			if err != nil {
				return change{}, err
			}
			next, wanted, err := decide(now)
			if err == nil && next != now {
				wanted.value = next
			}
			return wanted, err
		})
		if !missing || err != nil {
			return changed, err
		}
		if err := c.make(ctx); err != nil {
			return false, err
		}
	}
}

// make makes the state, unless somebody else does.
func (c *counter) make(ctx context.Context) error {
	first, err := c.state.First(ctx)
	if err != nil {
		return err
	}
	_, err = c.replace(ctx, func(v version) (change, error) {
		if v.revision != 0 {
			return change{}, nil
		}
		return change{value: counted{c.kind, c.state.Parameters, first, rand.Text()}}, nil
	})
	return err
}

// parse returns the value of a state that may be used.
func (c *counter) parse(v version) (now counted, err error) {
	if json.Unmarshal([]byte(v.value), &now) != nil || now.Next < 1 {
		return counted{}, stateError(c.state.Name, errValue)
	}
	switch {
	case now.Kind != c.kind:
		return counted{}, stateError(c.state.Name, errKind)
	case now.Parameters != c.state.Parameters:
		return counted{}, stateError(c.state.Name, errParameters)
	}
	return now, nil
}

// advance makes the state stand at to or above.
func (c *counter) advance(ctx context.Context, to int64) error {
	_, err := c.count(ctx, func(now counted) (counted, change, error) {
		now.Next = max(now.Next, to)
		return now, change{}, nil
	})
	return err
}

// numbers is the state of a sequence.
type numbers struct{ *counter }

// Reserve reserves integers by one transaction on the state.
func (n *numbers) Reserve(ctx context.Context, want, seen int64) (got keysource.Reservation, err error) {
	var reserved counted
	_, err = n.count(ctx, func(now counted) (counted, change, error) {
		reserved = now
		got = keysource.Reservation{First: now.Next}
		switch left := n.max - now.Next + 1; {
		case want < 1:
			return now, change{}, keysource.ErrCount
		case now.Next < seen:
			return now, change{}, nil
		case left < 1:
			return now, change{}, keysource.ErrExhausted
		case left < want:
			got.N = left
			now.Next += left
		default:
			now.Next += want
		}
		return now, change{}, nil
	})
	if err != nil {
		return keysource.Reservation{}, err
	}
	got.Server = n.store.seen.server(reserved.Incarnation)
	return got, nil
}

// Advance raises the state.
func (n *numbers) Advance(ctx context.Context, to int64) error { return n.advance(ctx, to) }

// isThere is the condition that a state was not made again since it was read.
func isThere(key string, v version) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), "=", v.created)
}
