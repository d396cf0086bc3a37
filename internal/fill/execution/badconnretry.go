package execution

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// A statement is sent again, by database/sql on another connection when a driver returns
// driver.ErrBadConn, and by the program after an error such as a deadlock. Under a
// recorder the second attempt gets the keys of the first, if it is surely the same
// statement and the end of the first attempt cannot have given its keys back.

// MaxLost bounds the executions that a recorder keeps for a retry.
const MaxLost = 1000

// Lose keeps an execution that has stored nothing, or that ended in driver.ErrBadConn,
// for its retry. Without a recorder nothing is kept.
func (r *Recorder) Lose(x *Execution) {
	if r == nil || !x.IsRepeatable() {
		return
	}
	x.Args = OwnArgs(x.Args)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = slices.DeleteFunc(r.lost, func(l *Execution) bool { return l == x })
	if len(r.lost) == MaxLost {
		r.lost = slices.Delete(r.lost, 0, 1)
	}
	r.lost = append(r.lost, x)
}

// Retry gives an execution the keys of a lost one of the same statement, and reports
// whether there was one. They are handed over once.
func (r *Recorder) Retry(x *Execution) bool {
	if r == nil || !x.IsRepeatable() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i < len(r.lost); i++ {
		l := r.lost[i]
		if !isSameText(l, x) || !EqualArgs(l.Args, x.Args) {
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

// IsRepeatable reports whether a retry of the execution may have its keys: they were
// drawn for it, no transaction can give them back, and their number is in the text.
func (x *Execution) IsRepeatable() bool {
	return !x.Form.Kept && !x.Form.Joined && !x.Plan.Counts() && x.isAutonomous() && !x.Follows.IsBefore(x.Plan)
}

// isSameText reports whether two executions are of the same text, and draw the same keys
// for it. The arguments are not compared.
func isSameText(x, y *Execution) bool {
	return x.Conn.DB == y.Conn.DB && x.Query == y.Query && x.Drawn.Values == y.Drawn.Values &&
		table.SameColumns(x.Plan, y.Plan) && x.Holes.Equal(y.Holes)
}

// handOver gives the keys of an execution to its retry. It reports false where another one
// has them already.
func handOver(from, to *Execution) bool {
	if !from.Handed.CompareAndSwap(false, true) {
		return false
	}
	to.Drawn.Keys = from.Drawn.Keys
	if to.Recording.Recorder == from.Recording.Recorder {
		to.Recording.Notes = from.Recording.Notes
	}
	return true
}

// OwnArgs returns a copy of arguments, which belong to the program once the statement has
// been sent.
func OwnArgs(args []driver.NamedValue) []driver.NamedValue {
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

// isAutonomous reports whether no transaction can give the keys back.
func (x *Execution) isAutonomous() bool {
	for _, d := range x.Plan.Draws {
		k := &table.Of(&x.Plan.Inserts[d.Insert]).KeyColumns[d.Key]
		if k.Source == nil && k.OnConnection {
			return false
		}
	}
	return true
}

// IsBadConn reports whether database/sql will try again.
func IsBadConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }

// IsUntaken reports whether database/sql comes with a statement again that has ended in err.
func IsUntaken(err error) bool { return err == driver.ErrSkip || IsBadConn(err) }
