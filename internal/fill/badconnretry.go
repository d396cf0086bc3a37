package fill

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
)

// A statement is sent again, by database/sql on another connection when a driver says
// driver.ErrBadConn, and by the program after an error such as a deadlock. Under a
// recorder the second attempt gets the keys of the first, if it is surely the same
// statement and nothing that became of the first attempt can have given its keys back.

// maxLost bounds the executions that a recorder keeps for a retry.
const maxLost = 1000

// lose keeps an execution that has stored nothing, or that ended in driver.ErrBadConn,
// for its retry. Without a recorder nothing is kept.
func (r *Recorder) lose(x *execution) {
	if r == nil || !x.isRepeatable() {
		return
	}
	x.args = ownArgs(x.args)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = slices.DeleteFunc(r.lost, func(l *execution) bool { return l == x })
	if len(r.lost) == maxLost {
		r.lost = slices.Delete(r.lost, 0, 1)
	}
	r.lost = append(r.lost, x)
}

// retry gives an execution the keys of a lost one of the same statement, and reports
// whether there was one. They are handed over once.
func (r *Recorder) retry(x *execution) bool {
	if r == nil || !x.isRepeatable() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i < len(r.lost); i++ {
		l := r.lost[i]
		if !isSameText(l, x) || !equalArgs(l.args, x.args) {
			continue
		}
		r.lost = slices.Delete(r.lost, i, i+1)
		if handOver(l, x) {
			return true
		}
		i--
	}
	return false
}

// isRepeatable reports whether a retry of the execution may have its keys: they were
// drawn for it, no transaction can give them back, and their number is in the text.
func (x *execution) isRepeatable() bool {
	return !x.kept && !x.joined && !x.plan.Counts() && x.isAutonomous() && !x.follows.isBefore(x.plan)
}

// isSameText reports whether two executions are of the same text, and draw the same keys
// for it. The arguments are not compared.
func isSameText(x, y *execution) bool {
	return x.conn.DB == y.conn.DB && x.query == y.query && x.values == y.values &&
		keys.SameColumns(x.plan, y.plan) && x.holes.Equal(y.holes)
}

// handOver gives the keys of an execution to its retry. It reports false where another one
// has them already.
func handOver(from, to *execution) bool {
	if !from.handed.CompareAndSwap(false, true) {
		return false
	}
	to.keys = from.keys
	if to.recording.recorder == from.recording.recorder {
		to.recording.notes = from.recording.notes
	}
	return true
}

// ownArgs returns a copy of arguments, which belong to the program once the statement has
// been sent.
func ownArgs(args []driver.NamedValue) []driver.NamedValue {
	args = slices.Clone(args)
	for i := range args {
		switch v := args[i].Value.(type) {
		case []byte:
			args[i].Value = bytes.Clone(v)
		case json.RawMessage:
			args[i].Value = bytes.Clone(v)
		}
	}
	return args
}

// isAutonomous reports whether no transaction can give back what was drawn.
func (x *execution) isAutonomous() bool {
	for _, d := range x.plan.Draws {
		k := &keys.TableOf(&x.plan.Inserts[d.Insert]).KeyColumns[d.Key]
		if k.Source == nil && k.OnConnection {
			return false
		}
	}
	return true
}

// isBadConn reports whether database/sql will try again.
func isBadConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }

// isUntaken reports whether database/sql comes with a statement again that has ended in err.
func isUntaken(err error) bool { return err == driver.ErrSkip || isBadConn(err) }
