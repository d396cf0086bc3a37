package execution

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// A statement may be sent again: by database/sql, on another connection, when a driver
// returns driver.ErrBadConn, and by the program after an error such as a deadlock. Under a
// recorder (see keyfill.Record) the second attempt gets the keys of the first attempt, if
// it is certainly the same statement and no rollback of the first attempt can have returned
// its keys.

// MaxLost is the greatest number of executions that a recorder (see keyfill.Record) keeps
// for a repetition.
const MaxLost = 1000

// Lose keeps an execution that has stored nothing, or that failed with driver.ErrBadConn,
// so that its repetition gets its keys. It does nothing without a recorder (see
// keyfill.Record).
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

// Retry gives an execution the keys of an execution of the same statement that Lose has
// kept, and reports whether there was one. Keys are given to one repetition only.
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

// IsRepeatable reports whether a repetition of the execution may use its keys: they
// were drawn for it, no rollback can return them, and the text determines how many
// there are.
func (x *Execution) IsRepeatable() bool {
	return !x.Form.Kept && !x.Form.Joined && !x.Plan.Counts() && x.isAutonomous() && !x.Follows.IsBefore(x.Plan)
}

// isSameText reports whether two executions have the same text and draw the same keys
// for it. It does not compare the arguments.
func isSameText(x, y *Execution) bool {
	return x.Conn.DB == y.Conn.DB && x.Query == y.Query && x.Drawn.Values == y.Drawn.Values &&
		table.SameColumns(x.Plan, y.Plan) && x.Holes.Equal(y.Holes)
}

// handOver gives the keys of an execution to its repetition. It returns false if
// another repetition has got them already.
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

// OwnArgs returns a copy of the arguments, since the originals belong to the program
// after the statement has been sent.
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

// isAutonomous reports whether no rollback can return the keys.
func (x *Execution) isAutonomous() bool {
	for _, d := range x.Plan.Draws {
		k := &table.Of(&x.Plan.Inserts[d.Insert]).KeyColumns[d.Key]
		if k.Source == nil && k.OnConnection {
			return false
		}
	}
	return true
}

// IsBadConn reports whether database/sql will try again on another connection.
func IsBadConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }

// IsUntaken reports whether database/sql will send a statement again that has failed
// with err.
func IsUntaken(err error) bool { return err == driver.ErrSkip || IsBadConn(err) }
