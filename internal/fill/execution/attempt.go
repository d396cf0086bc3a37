package execution

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Attempt is one attempt of a transaction that is made again after an error: the
// statements that were sent in it, and the keys of the attempts before. Its connection
// writes to it while the transaction is open.
type Attempt struct {
	DB     *Database    // nil where the transaction was not begun on a connection of keyfill's
	before []*Execution // of the attempts before, whose keys were not handed over yet
	filled int          // executions that were to get keys so far

	Sent  []*Execution // that got keys which a retry may have, in their order
	Keyed []*Execution // of these, those that have succeeded
	Other bool         // something else may be stored, or keys do not prove which rows are stored

	Ends   uint64 // session.Conn.Ends when the transaction has begun
	Saved  bool   // it has begun with a savepoint, which exists until the transaction ends
	Parts  bool   // it has ended before its end, so that a part may be stored
	undone bool   // the server has answered the COMMIT, and has not stored anything
	Place  string // where the session was then: see [session.Location]
	Number string // of the transaction, as the engine numbers it; empty if not known

	State atomic.Uint32
}

// The states of an attempt.
const (
	attemptOpen       uint32 = iota
	AttemptRolledBack        // no COMMIT was sent
	AttemptCommitting        // the COMMIT was sent
	AttemptCommitted         // and has succeeded
)

// MaxSent bounds the executions of one attempt whose keys are kept.
const MaxSent = 10_000

// AttemptKey is the key of a context that holds the attempt of its transaction.
type AttemptKey struct{}

// AttemptOf returns the attempt that a transaction is begun for, nil for most.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(AttemptKey{}).(*Attempt)
	return a
}

// NextAttempt returns the attempt after another one, which has stored nothing. a may be
// nil.
func NextAttempt(a *Attempt) *Attempt {
	if a == nil {
		return new(Attempt)
	}
	return &Attempt{before: slices.Concat(a.Sent, a.before)}
}

// AttemptSavepoint is the name of keyfill's savepoint, which no application uses.
const AttemptSavepoint = "keyfill_attempt"

// Retry gives an execution the keys of the same statement in an attempt before, and
// reports whether there are some: of one with the same text and equal arguments, else of
// the one that stood at the same place, if its text and its rows are the same.
func (a *Attempt) Retry(x *Execution) bool {
	if a == nil {
		return false
	}
	a.filled++
	x.ordinal = a.filled
	if !x.IsRepeatable() {
		return false
	}
	a.before = slices.DeleteFunc(a.before, func(b *Execution) bool { return b.Handed.Load() })
	i := slices.IndexFunc(a.before, func(b *Execution) bool { return isSameText(b, x) && EqualArgs(b.Args, x.Args) })
	if i < 0 {
		i = slices.IndexFunc(a.before, func(b *Execution) bool { return isSameText(b, x) && b.ordinal == x.ordinal })
	}
	if i < 0 {
		return false
	}
	b := a.before[i]
	a.before = slices.Delete(a.before, i, i+1)
	return handOver(b, x)
}

// NoteOther notes a text that is sent, or prepared, unchanged. a may be nil.
func (a *Attempt) NoteOther(query string) {
	if a != nil && !session.IsRead(a.DB.Dialect(), query) {
		a.Other = true
	}
}

// numbered records whether the engine returns the number of a transaction, and the
// outcome of a transaction by its number. An engine that imitates PostgreSQL may return
// neither.
type numbered struct{ told atomic.Uint32 }

const (
	numbersUnknown uint32 = iota
	numbersTold
	numbersNotTold
)

func (n *numbered) IsTold() bool { return n.told.Load() == numbersTold }

// Ask asks once, outside of a transaction: an error inside would end it.
func (n *numbered) Ask(ctx context.Context, c *Conn) {
	t := &c.DB.Dialect().Transactions
	if t.Number == "" || n.told.Load() != numbersUnknown || c.Tx != session.Outside {
		return
	}
	told := numbersTold
	for _, query := range []string{t.Number, FateOf(t, "1")} {
		if _, err := c.QueryRow(ctx, query, nil); sqlcode.Answered(err) {
			told = numbersNotTold
		} else if err != nil {
			return
		}
	}
	n.told.Store(told)
}

// BeforeEnd notes whether a text has ended the transaction before. Not each text that may
// have done so has, such as DDL that has failed, and joined keys leave it unknown after a
// deadlock.
func (a *Attempt) BeforeEnd(ctx context.Context, c *Conn) {
	a.Parts = c.Ends != a.Ends && c.Tx != session.Unknown
	if a.Parts && a.Saved {
		ctx, cancel := Aside(ctx)
		defer cancel()
		a.Saved = false
		a.Parts = c.ExecSavepoint(ctx, c.DB.Dialect().Transactions.Probe, AttemptSavepoint) != nil
	}
}

// AfterEnd notes the driver's answer to the Commit or Rollback. A transaction that a Commit
// has left open is rolled back: SQLite leaves it so where the database is busy.
//
// PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which a statement has
// failed, of which drivers make errors of their own. A connection that is in use after
// such an error has read the answer.
func (a *Attempt) AfterEnd(ctx context.Context, c *Conn, commits bool, err error) {
	aborts := c.DB.Dialect().ErrorsAbort
	switch {
	case !commits:
		a.State.Store(AttemptRolledBack)
	case err == nil:
		a.State.Store(AttemptCommitted)
	case sqlcode.Answered(err) && !aborts:
		c.EndFailed(ctx, err)
	case aborts && ctx.Err() == nil && !sqlcode.Answered(err) && !IsBadConn(err) && !sqlcode.IsNetwork(err) && !c.DB.Detached:
		ctx, cancel := Aside(ctx)
		defer cancel()
		_, asked := c.QueryRow(ctx, "SELECT 1", nil)
		a.undone = asked == nil
	}
}

// IsUndone reports whether the error of a COMMIT is the engine's word that it has stored
// nothing.
func (a *Attempt) IsUndone(err error) bool {
	if a.undone {
		return true
	}
	d := a.DB.Dialect()
	class := sqlcode.ClassOf(d, err)
	if !sqlcode.Answered(err) || class == dialect.ErrorPassing {
		return false
	}
	return d.ErrorsAbort || class.Transient() || class.Final() || class == dialect.ErrorDuplicate
}

// IsTransient reports whether a transaction that met an error of the engine may succeed
// when it is made again.
func (a *Attempt) IsTransient(err error) bool {
	return sqlcode.ClassOf(a.DB.Dialect(), err).Transient()
}

// FateOf returns the question whether a transaction has committed.
func FateOf(t *dialect.Transactions, number string) string {
	return strings.Replace(t.Fate, "%", number, 1)
}
