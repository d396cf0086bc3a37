package execution

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// maxParked bounds the executions that a long transaction can leave in memory because
// their arguments equal none when they come back.
const maxParked = 64

// parked holds the executions of a connection whose driver answered driver.ErrSkip, for
// the Prepare and the execution of the same text that database/sql sends next on this
// connection. The oldest stands first.
type parked struct {
	conn       *Conn
	executions []*Execution
	undos      uint64 // Undos of the connection when they were last looked through
}

// Park adds an execution.
func (p *parked) Park(x *Execution) {
	if x.Form.Joined || x.Form.Kept {
		return // its transaction is ours, or it has nothing to keep
	}
	p.dropUndone()
	if len(p.executions) == maxParked {
		p.executions = slices.Delete(p.executions, 0, 1)
	}
	p.executions = append(p.executions, x)
}

// Clear forgets all of them.
func (p *parked) Clear() {
	clear(p.executions)
	p.executions = p.executions[:0]
}

// dropUndone gives up the parked keys that were reserved on this connection where a
// transaction may have given them back since.
func (p *parked) dropUndone() {
	if p.undos != p.conn.Undos {
		p.executions = slices.DeleteFunc(p.executions, func(x *Execution) bool { return !x.isAutonomous() })
		p.undos = p.conn.Undos
	}
}

// Any reports whether there are some.
func (p *parked) Any() bool { return len(p.executions) > 0 }

// AnyInline reports whether the keys of some are literals.
func (p *parked) AnyInline() bool {
	return slices.ContainsFunc(p.executions, func(x *Execution) bool { return x.Form.Inline })
}

// TakeInline removes and returns the oldest execution of a text whose keys are literals:
// they have to be in the text that is prepared. It returns nil if there is no such
// execution.
func (p *parked) TakeInline(query string, plan *plans.Plan) *Execution {
	return p.take(func(x *Execution) bool {
		return x.Form.Inline && x.Query == query && table.SameColumns(x.Plan, plan)
	})
}

// TakeBound removes and returns the oldest execution of a prepared text with equal
// arguments. It returns nil if there is no such execution.
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

// Lose hands the executions of a text that could not be prepared, under a recorder, to
// the retry.
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

// EqualArgs compares arguments by the driver's basic types and other plain ones, []byte by
// content. A value of any other type equals none.
func EqualArgs(a, b []driver.NamedValue) bool {
	return slices.EqualFunc(a, b, func(x, y driver.NamedValue) bool {
		if x.Name != y.Name || x.Ordinal != y.Ordinal {
			return false
		}
		return equalValues(x.Value, y.Value)
	})
}
