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

// Attempt is one attempt of a transaction that is repeated after an error: it holds the
// statements that were sent in it, and the keys of earlier attempts. The connection
// writes to it while the transaction is open.
type Attempt struct {
	DB     *Database    // nil if the transaction was not begun on a connection of keyfill's
	before []*Execution // executions of earlier attempts whose keys were not given to a repetition yet
	filled int          // how many executions in this attempt needed keys so far

	Sent  []*Execution // executions that got keys which a repetition may use, in order
	Keyed []*Execution // the executions in Sent that have succeeded
	Other bool         // a statement without keys may have stored something too, or the keys do not prove which rows are stored

	Ends   uint64 // the value of session.Conn.Ends when the transaction began
	Saved  bool   // the transaction began with a savepoint, which exists until the transaction ends
	Parts  bool   // the transaction ended before the Commit, so a part of it may be stored
	undone bool   // the server has answered the COMMIT, but has stored nothing
	Place  string // the place (schema or search path) of the session when the transaction began: see [session.Location]
	Number string // the engine's number for the transaction; empty if it is not known

	State atomic.Uint32
}

// The states of an attempt.
const (
	attemptOpen       uint32 = iota
	AttemptRolledBack        // no COMMIT was sent
	AttemptCommitting        // the COMMIT was sent
	AttemptCommitted         // the COMMIT has succeeded
)

// MaxSent is the greatest number of executions of one attempt whose keys are kept.
const MaxSent = 10_000

// AttemptKey is the context key for the Attempt of a transaction.
type AttemptKey struct{}

// AttemptOf returns the Attempt for which a transaction is begun, nil for most
// transactions.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(AttemptKey{}).(*Attempt)
	return a
}

// NextAttempt returns the Attempt that follows a, which has stored nothing. a may be
// nil.
func NextAttempt(a *Attempt) *Attempt {
	if a == nil {
		return new(Attempt)
	}
	return &Attempt{before: slices.Concat(a.Sent, a.before)}
}

// AttemptSavepoint is the name of the savepoint with which keyfill begins a transaction.
// No application uses the name.
const AttemptSavepoint = "keyfill_attempt"

// Retry gives an execution the keys that the same statement had in an earlier attempt,
// and reports whether there were any. It prefers a statement with the same text and
// equal arguments; otherwise it uses the one at the same position, if its text and its
// rows are the same.
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

// NoteOther records that a text is sent, or prepared, unchanged. a may be nil.
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

// Ask queries once whether the engine returns these numbers. It does so outside of a
// transaction, which an error would abort.
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

// BeforeEnd records whether a text has ended the transaction before its Commit or
// Rollback. Some texts that could end it do not, such as DDL that fails, and with
// joined keys (drawn in the transaction) that is not known after a deadlock. So
// BeforeEnd asks the engine whether the savepoint still exists.
func (a *Attempt) BeforeEnd(ctx context.Context, c *Conn) {
	a.Parts = c.Ends != a.Ends && c.Tx != session.Unknown
	if a.Parts && a.Saved {
		ctx, cancel := Aside(ctx)
		defer cancel()
		a.Saved = false
		a.Parts = c.ExecSavepoint(ctx, c.DB.Dialect().Transactions.Probe, AttemptSavepoint) != nil
	}
}

// AfterEnd records the driver's answer to the Commit or Rollback. A transaction that a
// Commit has left open is rolled back: SQLite leaves it open if the database is busy.
//
// PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which a statement has
// failed, and drivers turn that into errors of their own. If the connection can still
// be used after such an error, it has read the answer.
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

// IsUndone reports whether the error of a COMMIT means that the engine has stored
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

// IsTransient reports whether a transaction that has met an error of the engine may
// succeed when it is repeated.
func (a *Attempt) IsTransient(err error) bool {
	return sqlcode.ClassOf(a.DB.Dialect(), err).Transient()
}

// FateOf returns the query that shows whether the transaction with this number has
// committed.
func FateOf(t *dialect.Transactions, number string) string {
	return strings.Replace(t.Fate, "%", number, 1)
}
