package keyfilletcd

import (
	"context"
	"encoding/json"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// marked is the stored value of a worker's mark: the time up to which the worker may make
// keys.
type marked struct {
	Parameters string `json:"parameters,omitempty"`
	Until      int64  `json:"until"` // the end of the reserved time, in milliseconds since 1970
	Owner      string `json:"owner"` // the process that raised the mark last, for operators
}

// marker raises the mark of one worker: the time up to which the worker may make keys.
type marker struct {
	*cell
	state keysource.State
	owner string
}

// Mark raises the mark (the time up to which a worker may make keys) in one transaction.
func (m *marker) Mark(ctx context.Context, until int64) (before int64, err error) {
	_, err = m.replace(ctx, func(v version) (change, error) {
		var now marked
		switch {
		case v.revision == 0:
		case json.Unmarshal([]byte(v.value), &now) != nil:
			return change{}, stateError(m.state.Name, errValue)
		case now.Parameters != m.state.Parameters:
			return change{}, stateError(m.state.Name, errParameters)
		}
		before = now.Until
		if before >= until {
			return change{}, nil
		}
		return change{value: marked{m.state.Parameters, until, m.owner}}, nil
	})
	if err != nil {
		return 0, err
	}
	return before, nil
}

// bound is the stored value of a column: the name of the state (the stored counter) that
// numbers the column.
type bound struct {
	State      string `json:"state"`
	Parameters string `json:"parameters,omitempty"`
}

// Bind notes which state (a stored counter) numbers a column, in a transaction that writes
// nothing if another state numbers the column already.
func (s *store) Bind(ctx context.Context, st keysource.State, column string) error {
	key, own := s.key("columns", column), bound{st.Name, st.Parameters}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	var answer *clientv3.TxnResponse
	err = s.persist(ctx, func() (err error) {
		answer, err = s.transact(ctx, []clientv3.Cmp{absent(key)},
			[]clientv3.Op{clientv3.OpPut(key, string(text))}, []clientv3.Op{clientv3.OpGet(key)})
		return err
	})
	if err != nil || answer.Succeeded {
		return err
	}
	var other bound
	v := versionOf(answer.Responses[0].GetResponseRange())
	switch {
	case json.Unmarshal([]byte(v.value), &other) != nil:
		return stateError(st.Name, errValue)
	case other.State != st.Name:
		return stateError(st.Name, errTaken)
	case other != own:
		return stateError(st.Name, errBinding)
	}
	return nil
}
