package fill

import (
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
)

// database/sql sends a statement again, on another connection, when a driver
// says driver.ErrBadConn. Under a recorder the second attempt gets the keys of
// the first, if it is surely the same statement and nothing that became of the
// first connection can have given its keys back.

// maxLost bounds the executions that a recorder keeps for a retry.
const maxLost = 64

// lose keeps an execution that ended in driver.ErrBadConn for its retry. Without a
// recorder nothing is kept.
func (r *Recorder) lose(x *execution) {
	if r == nil || x.kept || !x.isAutonomous() || x.plan.Counts() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lost) == maxLost {
		r.lost = slices.Delete(r.lost, 0, 1)
	}
	r.lost = append(r.lost, x)
}

// retry gives an execution the keys of a lost one of the same statement, and reports
// whether there was one. They are handed over once.
func (r *Recorder) retry(x *execution) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, l := range r.lost {
		if l.conn.DB == x.conn.DB && l.query == x.query && l.values == x.values && keys.SameColumns(l.plan, x.plan) && equalArgs(l.args, x.args) && l.holes.Equal(x.holes) {
			r.lost = slices.Delete(r.lost, i, i+1)
			x.keys, x.recording.notes = l.keys, l.recording.notes
			return true
		}
	}
	return false
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
