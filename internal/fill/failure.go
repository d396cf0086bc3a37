package fill

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// failure returns what an error says of the rows.
func (x *execution) failure(err error) outcome {
	in := &x.plan.Inserts[0]
	switch {
	case x.fate.undone:
		return outcomeNotStored
	case x.fate.gone != nil && x.conn.Tx != session.Inside:
		return outcomeUnknown // the statement may have committed by itself
	}
	// ErrBadConn says nothing: drivers give it for a connection that broke after
	// the send, too.
	atomic := in.Rows == 1 || x.plan.Dialect().AtomicStatements && in.Conflict != rewrite.ConflictSkip && !x.ownConflicts()
	if atomic && sqlcode.Answered(err) {
		return outcomeNotStored
	}
	return outcomeUnknown
}

// ended returns what an error says of the rows of one INSERT of the text.
func (x *execution) ended(in *rewrite.Insert, err error) outcome {
	if x.plan.Alone() {
		return x.failure(err)
	}
	return x.together(in, err)
}

// ownConflicts reports whether the table may leave out or replace rows by
// itself.
func (x *execution) ownConflicts() bool {
	f := keys.TableOf(&x.plan.Inserts[0]).Facts()
	return f != nil && f.OwnConflicts
}
