package fill

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// ending is what a text of an execution has ended in. Without an error it has run to its
// end.
type ending struct {
	x   *execution
	err error
}

// outcome returns what the error says of the rows of the only INSERT of the text.
func (e ending) outcome() outcome {
	x := e.x
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
	if atomic && sqlcode.Answered(e.err) {
		return outcomeNotStored
	}
	return outcomeUnknown
}

// isUndone reports whether the error is the engine's word that it has undone the only
// INSERT of the text for the sake of others, so that it may succeed when it is sent again.
func (e ending) isUndone() bool {
	return e.x.plan.Alone() && sqlcode.ClassOf(e.x.plan.Dialect(), e.err).Transient() && e.outcome() == outcomeNotStored
}

// outcomeOf returns what the error says of the rows of one INSERT of the text.
func (e ending) outcomeOf(in *rewrite.Insert) outcome {
	if e.x.plan.Alone() {
		return e.outcome()
	}
	return e.together(in)
}

// ownConflicts reports whether the table may leave out or replace rows by
// itself.
func (x *execution) ownConflicts() bool {
	f := factsOf(x.conn, keys.TableOf(&x.plan.Inserts[0]))
	return f != nil && f.OwnConflicts
}
