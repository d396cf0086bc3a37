package fill

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// maxParked bounds what a long transaction can leave behind by executions whose
// arguments equal none when they come back.
const maxParked = 64

// park keeps an execution whose driver answered ErrSkip for the Prepare and the
// execution of the same text that database/sql sends next on this connection.
func (g *Conn) park(x *execution) {
	if x.joining.any || x.kept {
		return // its transaction is ours, or it has nothing to keep
	}
	g.dropUndone()
	if len(g.parked) == maxParked {
		g.parked = slices.Delete(g.parked, 0, 1)
	}
	g.parked = append(g.parked, x)
}

// dropUndone gives up the parked keys that were reserved on this connection where a
// transaction may have given them back since.
func (g *Conn) dropUndone() {
	if g.parkedAt != g.Undos {
		g.parked = slices.DeleteFunc(g.parked, func(x *execution) bool { return !x.autonomous() })
		g.parkedAt = g.Undos
	}
}

// parkedInline returns the oldest parked execution of a text whose keys are
// literals: they have to be in the text that is prepared.
func (g *Conn) parkedInline(query string, p *rewrite.Plan) *execution {
	g.dropUndone()
	for i, x := range g.parked {
		if x.inline && x.query == query && keys.SameColumns(x.plan, p) {
			g.parked = slices.Delete(g.parked, i, i+1)
			return x
		}
	}
	return nil
}

// unpark returns the oldest parked execution of a statement's text with equal
// arguments.
func (g *Conn) unpark(s *statement, args []driver.NamedValue, values string) *execution {
	g.dropUndone()
	for i, x := range g.parked {
		if !x.inline && x.query == s.query && x.values == values && keys.SameColumns(x.plan, s.plan) && equalArgs(x.args, args) {
			g.parked = slices.Delete(g.parked, i, i+1)
			return x
		}
	}
	return nil
}

// equalArgs compares arguments by the driver's basic types, []byte by content.
// A value of any other type equals none.
func equalArgs(a, b []driver.NamedValue) bool {
	return slices.EqualFunc(a, b, func(x, y driver.NamedValue) bool {
		if x.Name != y.Name || x.Ordinal != y.Ordinal {
			return false
		}
		return equalValues(x.Value, y.Value)
	})
}
