package keyfilletcd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"math"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// counted is the value of a state (a stored counter) as etcd keeps it.
type counted struct {
	Kind        string `json:"kind"` // the kind of the source
	Parameters  string `json:"parameters,omitempty"`
	Base        int64  `json:"base"`             // the lowest integer that is not reserved, less the integers that the counts have reserved
	Counts      string `json:"counts,omitempty"` // the names of the counts (see numbers), with spaces between them
	Incarnation string `json:"incarnation"`      // a text that differs each time the state is created
}

// counter gives access to one state (a stored counter) of one kind of source.
type counter struct {
	*cell
	state keysource.State
	kind  string
	max   int64 // the greatest integer that may be reserved
}

func (s *store) counter(st keysource.State, kind string) *counter {
	// The next integer, which may be one above the greatest, has to be an int64 too.
	return &counter{cell: s.cell("states", st.Name), state: st, kind: kind, max: min(st.Max, math.MaxInt64-1)}
}

// count replaces the value of the state (a stored counter) by the result of decide, see
// [cell.replace]. A missing state is created first.
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
		if _, err := c.make(ctx); err != nil {
			return false, err
		}
	}
}

// make creates the state (a stored counter), unless another process has created it. It
// returns the results of the read operations in questions, from the same transaction.
func (c *counter) make(ctx context.Context, questions ...clientv3.Op) ([]*etcdserverpb.ResponseOp, error) {
	first, err := c.state.First(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(counted{Kind: c.kind, Parameters: c.state.Parameters, Base: first, Incarnation: rand.Text()})
	if err != nil {
		return nil, err
	}
	answer, err := c.store.transact(ctx, []clientv3.Cmp{absent(c.key)},
		append([]clientv3.Op{clientv3.OpPut(c.key, string(text))}, questions...), questions)
	switch {
	case err != nil:
		return nil, err
	case answer.Succeeded:
		return answer.Responses[1:], nil
	}
	return answer.Responses, nil
}

// parse returns the value of a state (a stored counter), or an error if the state cannot be
// read or was made for another source.
func (c *counter) parse(v version) (now counted, err error) {
	if json.Unmarshal([]byte(v.value), &now) != nil || now.Base < 1 {
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

// advance raises the state (a stored counter), so that its next integer is to or greater.
func (c *counter) advance(ctx context.Context, to int64) error {
	_, err := c.count(ctx, func(now counted) (counted, change, error) {
		now.Base = max(now.Base, to)
		return now, change{}, nil
	})
	return err
}

// isThere returns the condition that a state (a stored counter) was not created again since
// it was read.
func isThere(key string, v version) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), "=", v.created)
}
