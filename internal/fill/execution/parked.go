package execution

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// maxParked is the greatest number of parked executions (kept after the driver answered
// driver.ErrSkip): a long transaction would otherwise keep those that are never taken,
// because their arguments are not equal to themselves.
const maxParked = 64

// parked holds the executions of a connection whose driver has answered driver.ErrSkip.
// database/sql next prepares and executes the same text on this connection, and the
// execution is taken then. The oldest comes first.
type parked struct {
	conn       *Conn
	executions []*Execution
	undos      uint64 // the value of Undos (a count of rollbacks) of the connection when the executions were last checked
}

// Park adds an execution, unless it has no keys to keep.
func (p *parked) Park(x *Execution) {
	if x.Form.Joined || x.Form.Kept {
		return // there are no keys to keep: a rollback returns keys that are drawn in a transaction, and a kept text contains its own
	}
	p.dropUndone()
	if len(p.executions) == maxParked {
		p.executions = slices.Delete(p.executions, 0, 1)
	}
	p.executions = append(p.executions, x)
}

// Clear removes all executions.
func (p *parked) Clear() {
	clear(p.executions)
	p.executions = p.executions[:0]
}

// dropUndone removes parked executions (kept after the driver answered driver.ErrSkip)
// whose keys were reserved on this connection, if a rollback may have returned the keys
// since.
func (p *parked) dropUndone() {
	if p.undos != p.conn.Undos {
		p.executions = slices.DeleteFunc(p.executions, func(x *Execution) bool { return !x.isAutonomous() })
		p.undos = p.conn.Undos
	}
}

// Any reports whether executions are kept after the driver answered driver.ErrSkip.
func (p *parked) Any() bool { return len(p.executions) > 0 }

// AnyInline reports whether an execution is parked (kept after the driver answered
// driver.ErrSkip) whose keys are literals in its text.
func (p *parked) AnyInline() bool {
	return slices.ContainsFunc(p.executions, func(x *Execution) bool { return x.Form.Inline })
}

// TakeInline removes and returns the oldest execution of a text whose keys are
// literals, since they have to be in the text that is prepared. It returns nil if there
// is none.
func (p *parked) TakeInline(query string, plan *plans.Plan) *Execution {
	return p.take(func(x *Execution) bool {
		return x.Form.Inline && x.Query == query && table.SameColumns(x.Plan, plan)
	})
}

// TakeBound removes and returns the oldest execution of a prepared text with equal
// arguments. It returns nil if there is none.
func (p *parked) TakeBound(query string, plan *plans.Plan, args []driver.NamedValue, values string) *Execution {
	return p.take(func(x *Execution) bool {
		return !x.Form.Inline && x.Query == query && x.Drawn.Values == values && table.SameColumns(x.Plan, plan) && EqualArgs(x.Args, args)
	})
}

func (p *parked) take(suits func(*Execution) bool) *Execution {
	p.dropUndone()
	i := slices.IndexFunc(p.executions, suits)
	if i < 0 {
		return nil
	}
	x := p.executions[i]
	p.executions = slices.Delete(p.executions, i, i+1)
	return x
}

// Lose keeps the executions of a text that could not be prepared in their recorder (see
// keyfill.Record) r, so that a repetition gets their keys.
func (p *parked) Lose(query string, r *Recorder) {
	p.dropUndone()
	p.executions = slices.DeleteFunc(p.executions, func(x *Execution) bool {
		if x.Query != query || x.Recording.Recorder != r {
			return false
		}
		r.Lose(x)
		return true
	})
}

// EqualArgs reports whether arguments are equal, of the driver's basic types and other
// plain ones; []byte is compared by content. A value of any other type is never equal.
func EqualArgs(a, b []driver.NamedValue) bool {
	return slices.EqualFunc(a, b, func(x, y driver.NamedValue) bool {
		if x.Name != y.Name || x.Ordinal != y.Ordinal {
			return false
		}
		return equalValues(x.Value, y.Value)
	})
}
