package fill

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// attempt is one attempt of a transaction that is made again after an error: what was sent
// in it, and the keys of the attempts before. Its connection writes to it while the
// transaction is open.
type attempt struct {
	db     *database    // nil where the transaction was not begun on a connection of keyfill's
	before []*execution // of the attempts before, whose keys were not handed over yet
	filled int          // executions that were to get keys so far

	sent  []*execution // that got keys which a retry may have, in their order
	keyed []*execution // of these, those that have succeeded
	other bool         // something else may be stored, or what is stored is not proven by its keys

	ends   uint64 // session.Conn.Ends when the transaction has begun
	saved  bool   // it has begun with a savepoint, which is there as long as it is open
	parts  bool   // it has ended before its end, so that a part may be stored
	undone bool   // the server has answered the COMMIT, and has not stored anything
	place  string // where the session was then: see [session.Location]
	number string // of the transaction, as the engine tells it; "" where it does not

	state atomic.Uint32
}

// The states of an attempt.
const (
	attemptOpen       uint32 = iota
	attemptRolledBack        // no COMMIT was sent
	attemptCommitting        // the COMMIT was sent
	attemptCommitted         // and has succeeded
)

// maxSent bounds the executions of one attempt whose keys are kept.
const maxSent = 10_000

type attemptKey struct{}

// attemptOf returns the attempt that a transaction is begun for, nil for most.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// nextAttempt returns the attempt behind another one, which has stored nothing. a may be
// nil.
func nextAttempt(a *attempt) *attempt {
	if a == nil {
		return new(attempt)
	}
	return &attempt{before: slices.Concat(a.sent, a.before)}
}

// BeginTx begins a transaction, for an attempt where the context has one.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	a := attemptOf(ctx)
	if a == nil {
		return c.Conn.BeginTx(ctx, opts)
	}
	a.db, a.other = c.DB, c.DB.Detached // where stores are stood in for, the engine is asked nothing
	if !a.other {
		at, err := c.PlaceNow(ctx)
		if a.other = err != nil; err == nil {
			a.place = at.Answer
			c.DB.numbered.ask(ctx, &c.connection)
		}
	}
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err == nil {
		c.attempt, a.ends = a, c.Ends
		a.saved = c.DB.Dialect().Transactions.Probe != "" && !c.DB.Detached && c.ExecSavepoint(ctx, c.DB.Dialect().Transactions.Set, attemptSavepoint) == nil
	}
	return tx, err
}

// attemptSavepoint is the name of ours, which nobody else uses.
const attemptSavepoint = "keyfill_attempt"

// retry gives an execution the keys of the same statement in an attempt before, and
// reports whether there are some: of one with the same text and equal arguments, else of
// the one that stood at the same place, if its text and its rows are the same.
func (a *attempt) retry(x *execution) bool {
	if a == nil {
		return false
	}
	a.filled++
	x.ordinal = a.filled
	if !x.isRepeatable() {
		return false
	}
	a.before = slices.DeleteFunc(a.before, func(b *execution) bool { return b.handed.Load() })
	i := slices.IndexFunc(a.before, func(b *execution) bool { return isSameText(b, x) && equalArgs(b.args, x.args) })
	if i < 0 {
		i = slices.IndexFunc(a.before, func(b *execution) bool { return isSameText(b, x) && b.ordinal == x.ordinal })
	}
	if i < 0 {
		return false
	}
	b := a.before[i]
	a.before = slices.Delete(a.before, i, i+1)
	return handOver(b, x)
}

// note notes an execution that was sent, with the driver's answer. a may be nil.
func (a *attempt) note(x *execution, err error) {
	e := ending{x, err}
	switch {
	case a == nil:
		return
	case err != nil && !e.isUndone():
		a.other = a.other || e.outcome() != outcomeNotStored
		return
	case !x.isRepeatable() || len(a.sent) == maxSent:
		a.other = true
		return
	}
	x.args = ownArgs(x.args)
	a.sent = append(a.sent, x)
	if err == nil {
		a.keyed = append(a.keyed, x)
		a.other = a.other || keyedBy(x) < 0 || !x.conn.Place.Asked || x.conn.Place.At.Answer != a.place
	}
}

// noteOther notes a text that is sent, or prepared, as it came. a may be nil.
func (a *attempt) noteOther(query string) {
	if a != nil && !session.IsRead(a.db.Dialect(), query) {
		a.other = true
	}
}

// keyedBy returns the index of a draw whose keys prove, where all of them are in the table,
// that an execution has stored each of its rows; -1 where there is none.
func keyedBy(x *execution) int {
	in := &x.plan.Inserts[0]
	if !x.plan.Alone() || len(x.plan.Inserts) != 1 || in.Query != nil || in.Explained || x.plan.ByFunction() || in.Conflict != rewrite.ConflictError {
		return -1
	}
	for i, d := range x.plan.Draws {
		if in.Target.Keys[d.Key].Scope == nil && x.holes.Counts[i] == in.Rows {
			return i
		}
	}
	return -1
}

// numbered is whether the engine tells the number of a transaction and what became of it.
// Engines that only speak as PostgreSQL does may tell neither.
type numbered struct{ told atomic.Uint32 }

const (
	numbersUnknown uint32 = iota
	numbersTold
	numbersNotTold
)

func (n *numbered) isTold() bool { return n.told.Load() == numbersTold }

// ask asks once, outside of a transaction: an error inside would end it.
func (n *numbered) ask(ctx context.Context, c *connection) {
	t := &c.DB.Dialect().Transactions
	if t.Number == "" || n.told.Load() != numbersUnknown || c.Tx != session.Outside {
		return
	}
	told := numbersTold
	for _, query := range []string{t.Number, fateOf(t, "1")} {
		if _, err := c.QueryRow(ctx, query, nil); sqlcode.Answered(err) {
			told = numbersNotTold
		} else if err != nil {
			return
		}
	}
	n.told.Store(told)
}
