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

// lose keeps an execution that ended in driver.ErrBadConn for its retry.
func (x *execution) lose() {
	if x.rec == nil || x.kept || !x.autonomous() || x.plan.Counts() {
		return
	}
	x.rec.mu.Lock()
	defer x.rec.mu.Unlock()
	if len(x.rec.lost) == maxLost {
		x.rec.lost = slices.Delete(x.rec.lost, 0, 1)
	}
	x.rec.lost = append(x.rec.lost, x)
}

// retry takes over the keys of an execution of the same statement under the
// same recorder. They are handed over once.
func (x *execution) retry() bool {
	if x.rec == nil {
		return false
	}
	x.rec.mu.Lock()
	defer x.rec.mu.Unlock()
	for i, l := range x.rec.lost {
		if l.conn.DB == x.conn.DB && l.query == x.query && l.values == x.values && keys.SameColumns(l.plan, x.plan) && equalArgs(l.args, x.args) && l.holes.Equal(x.holes) {
			x.rec.lost = slices.Delete(x.rec.lost, i, i+1)
			x.keys, x.notes = l.keys, l.notes
			return true
		}
	}
	return false
}

// autonomous reports whether no transaction can give back what was drawn.
func (x *execution) autonomous() bool {
	for _, d := range x.plan.Draws {
		k := &keys.TableOf(&x.plan.Inserts[d.Insert]).KeyColumns[d.Key]
		if k.Source == nil && x.conn.DB.DrawsOnConnection(k) {
			return false
		}
	}
	return true
}

// loseParked is for a text that could not be prepared: what was parked for it
// waits for the retry.
func (g *Conn) loseParked(query string, rec *Recorder) {
	g.dropUndone()
	g.parked = slices.DeleteFunc(g.parked, func(x *execution) bool {
		if x.query != query || x.rec != rec {
			return false
		}
		x.lose()
		return true
	})
}

// isBadConn reports whether database/sql will try again.
func isBadConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }
