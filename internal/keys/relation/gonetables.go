package relation

import (
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// keyfill's own tables may be dropped while a process runs: by a test suite that drops
// everything, or by a restore. A statement of keyfill's that finds them missing makes
// the process forget that they exist. The next draw checks again, and creates them if
// the policy says so: on a connection of keyfill's own, or, on SQLite, before its
// transaction.

// errStatesGone is returned to a statement in a transaction, in which keyfill creates
// no tables.
var errStatesGone = anchor.New("state-tables", "keyfill's tables were dropped meanwhile: begin the transaction again, since they are made before the next one")

// goneError is errStatesGone together with its cause.
type goneError struct{ cause error }

func (e *goneError) Error() string { return anchor.Plain(errStatesGone.Error()) }

func (e *goneError) Unwrap() []error { return []error{errStatesGone, e.cause} }

// NoteGone returns the error of a draw on the connection. If err says that keyfill's
// tables are missing, NoteGone counts that, so that each row is opened again before its
// next number. ensured reports that the policy lets keyfill create the tables.
func NoteGone(g *Session, err error, ensured bool) error {
	if err == nil || !errors.Is(err, store.ErrTables) {
		return err
	}
	g.Tables.Gone.Add(1)
	g.Tables.Places.States.Store(nil) // the schema is looked up again, since the tables may be in another one now
	if !ensured || g.Tx == session.Outside {
		return err
	}
	return &goneError{err}
}

// IsGone reports whether an error says that keyfill's tables were missing, and will be
// created for the next transaction.
func IsGone(err error) bool { return errors.Is(err, errStatesGone) }
