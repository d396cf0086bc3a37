package executor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// keysSavepoint is the name of the savepoint that keyfill sets before it draws keys in a
// transaction. No application uses the name.
const keysSavepoint = "keyfill_keys"

// Transactional executes statements whose keys are drawn in their transaction: the
// transaction that is open on the connection, or one that keyfill begins for the
// drawing and the INSERT.
type Transactional struct {
	X       *execution.Execution
	Needs   Joining
	counted *InsertSelect  // counts rows of a query before the transaction; nil if none are counted
	within  *countedWithin // counts rows of a query in the transaction; nil if none are counted

	own       driver.Tx     // the transaction, if keyfill has begun it; else nil
	marked    bool          // the drawn keys may have to be rolled back
	pointSet  bool          // keyfill's savepoint (keysSavepoint) is set
	draws     uint64        // the value of Session.JoinedDraws (a count of draws) when the savepoint was set
	yields    bool          // if a counter cannot be raised, the statement is sent without the raise
	drawing   bool          // nothing was sent yet: an error may come from another connection
	committed bool          // keyfill's transaction was committed, with an error or without
	forgotten bool          // keyfill's transaction was repeated because the server had discarded the prepared statements
	remade    bool          // keyfill's transaction was repeated because keyfill's tables were missing
	tries     session.Again // counts the repetitions of keyfill's transaction
}

// Exec sends the statement in the transaction of its keys, and commits the transaction
// if keyfill has begun it.
func (t *Transactional) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	res, err := sendJoined(ctx, t, true, func() (res driver.Result, err error) {
		if t.within != nil && countsByRows(t.X) {
			res, t.within.read, err = execByQuery(ctx, via, t.X)
			return res, err
		}
		return via.SendExec(ctx, t.X)
	})
	if err == nil && !t.committed {
		t.Ask(ctx, res)
		if err = t.X.Fate.Gone; err != nil {
			res = nil
		}
	}
	if left := t.Leave(ctx, err); err == nil && left != nil {
		res, err = nil, left // the transaction was not committed
	}
	return res, err
}

// Query does what Exec does, for a statement that returns rows.
func (t *Transactional) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := sendJoined(ctx, t, false, func() (driver.Rows, error) {
		rows, err := via.SendQuery(ctx, t.X)
		if err != nil || t.within == nil {
			return rows, err
		}
		// Only the rows show how many there are, and whether the statement has to be sent again.
		return readWhole(t.X.Conn, rows, func(sets []resultSet, err error) error {
			if err == nil {
				err = t.within.checkRead(ctx, sets)
			}
			return err
		})
	})
	if err != nil {
		return rows, t.Leave(ctx, err)
	}
	follows := &t.X.Follows
	if t.own == nil && !t.marked && !follows.Any() {
		return rows, nil
	}
	read, err := readWhole(t.X.Conn, rows, func(_ []resultSet, err error) error {
		if err == nil {
			err = RaiseStored(ctx, follows)
		}
		if err != nil {
			err = t.unlessEnded(err)
		}
		return t.Leave(ctx, err)
	})
	if err != nil {
		return nil, err
	}
	if err := outcome.RaiseAfter(ctx, follows); err != nil {
		return nil, err
	}
	return read, nil
}

// Ask finds out which rows were stored, while the transaction is still open.
func (t *Transactional) Ask(ctx context.Context, res driver.Result) {
	outcome.AnswerTo(t.X, res).Settle(ctx)
	t.X.Fate.Asked = true
}

// join enters the transaction to which the execution's keys belong: it sets a savepoint
// in the open transaction, or begins one.
func (t *Transactional) join(ctx context.Context) error {
	c := t.X.Conn
	t.X.Fate.Undone = false
	inside, err := c.IsInTransaction(ctx)
	switch {
	case err != nil:
		return err
	case c.Tx == session.Unknown && c.Ended:
		return outcome.ErrEnded
	case c.Tx == session.Unknown:
		return t.X.Plan.Refused(rewrite.ErrTransaction)
	}
	if r := t.Unfit(inside); r != nil {
		return r
	}
	switch {
	case !inside:
		return t.beginOwn(ctx)
	case t.Needs.gapFree:
		return t.mark(ctx)
	}
	return nil
}

// Unfit returns a refusal if the execution cannot run in the transaction to which its
// keys belong, nil if it can. inside reports whether the application has begun that
// transaction.
func (t *Transactional) Unfit(inside bool) *plans.Refusal {
	switch p := t.X.Plan; {
	case t.Needs.whole && leavesOut(t.X.Conn, p):
		return p.Refused(rewrite.ErrGap)
	case p.Statements > 1 && !(inside && (p.Dialect.ErrorsAbort || !t.Needs.gapFree)):
		return p.Refused(rewrite.ErrTogether)
	}
	return nil
}

// leavesOut reports whether a trigger or a constraint of a table may skip rows without
// an error.
func leavesOut(c *execution.Conn, p *plans.Plan) bool {
	for i := range p.Inserts {
		if f := execution.FactsOf(c, table.Of(&p.Inserts[i])); f != nil && f.OwnConflicts {
			return true
		}
	}
	return false
}

// mark sets keyfill's savepoint. It sets none on an engine where an error allows only a
// rollback of the whole transaction, which undoes the draw anyway, unless the driver
// may answer driver.ErrSkip, which is not an error of the engine.
func (t *Transactional) mark(ctx context.Context) error {
	d := t.X.Plan.Dialect
	if t.X.Conn.DB.StatesOnConnection() {
		// If no transaction is open, a savepoint of SQLite would begin one, so prove that one
		// is.
		if err := t.X.Conn.ProvenStore().Prove(ctx); err != nil {
			return t.unlessEnded(err)
		}
	}
	if t.pointSet = !d.ErrorsAbort || t.within != nil || t.yields || !t.X.Conn.DB.Driver.Executes; t.pointSet {
		err := t.X.Conn.ExecSavepoint(ctx, d.Transactions.Set, keysSavepoint)
		if err != nil && d.Transactions.Open != "" && sqlcode.Is(err, d.Transactions.Ended) {
			return t.unlessEnded(store.ErrEnded)
		}
		if err != nil {
			return err
		}
	}
	t.marked, t.draws = true, t.X.Conn.JoinedDraws
	return nil
}

// beginOwn begins a transaction for this execution alone.
func (t *Transactional) beginOwn(ctx context.Context) error {
	c := t.X.Conn
	c.EnsureStates(ctx)
	var opts driver.TxOptions
	if t.Needs.Latest && t.X.Plan.Dialect.Transactions.Snapshots {
		// Under REPEATABLE READ the first statement, which waits for the lock, would fix
		// the snapshot for the later statements.
		opts.Isolation = driver.IsolationLevel(sql.LevelReadCommitted)
	}
	own, err := session.BeginOwn(ctx, &c.Conn.Conn, opts)
	if err != nil {
		if session.IsNestedBegin(err) {
			c.MarkUnknown()
			return t.X.Plan.Refused(rewrite.ErrTransaction)
		}
		return err
	}
	t.own, c.Tx = own, session.Inside
	c.Drawn.Forget()
	c.Ongoing = store.Ongoing{Ours: true}
	return nil
}

// Leave ends what join has begun, for a statement that has ended with err, which may be
// nil. It returns err, or the error of the commit.
func (t *Transactional) Leave(ctx context.Context, err error) error {
	if t.own == nil && !t.marked {
		return err
	}
	if err != nil {
		t.X.Conn.Drawn.Forget()
	}
	// The transaction must end even if the caller's context has ended.
	ctx = context.WithoutCancel(ctx)
	switch {
	case t.own != nil:
		own := t.own
		t.own = nil
		return t.end(ctx, own, err)
	case t.marked:
		t.marked = false
		t.unmark(ctx, err)
	}
	return err
}

// end commits the transaction that keyfill has begun, or rolls it back if err is not
// nil.
func (t *Transactional) end(ctx context.Context, own driver.Tx, err error) error {
	c := t.X.Conn
	c.Drawn.BeforeCommit(&c.Session)
	c.Tx = session.Outside
	c.Ongoing = store.Ongoing{}
	if err != nil {
		t.X.Fate.Undone = true
		c.EndFailed(ctx, own.Rollback())
		return err
	}
	err = own.Commit()
	c.Drawn.AfterCommit(err == nil)
	if err == nil {
		return nil
	}
	// SQLite leaves a transaction open whose commit has failed with SQLITE_BUSY, so roll it
	// back.
	c.EndFailed(ctx, err)
	if execution.IsBadConn(err) {
		// The commit was sent, so database/sql must not send everything again.
		table := table.Of(&t.X.Plan.Inserts[0])
		return table.NewError(table.Table, table.KeyColumns[0].Name, -1, fmt.Errorf("%w: %v", errCommit, err))
	}
	return err
}

// errCommit is returned when the connection broke at the commit of a transaction that
// keyfill has begun.
var errCommit = anchor.New("commit-unknown", "the connection broke at the commit, so that it is not known whether the row is stored")

// unmark releases keyfill's savepoint, or rolls back to it if the statement has failed.
// The rollback returns the drawn keys.
func (t *Transactional) unmark(ctx context.Context, err error) {
	d := t.X.Plan.Dialect
	tx := &d.Transactions
	switch {
	case err == nil && !t.pointSet:
		return
	case err == nil:
		t.unset(ctx)
		return
	case t.within.isSentAgain(), t.yields && t.drawing:
		// On every engine, such an error leads to a rollback to the savepoint. After any
		// other error the transaction stays as it would be without keyfill.
	case d.ErrorsAbort && sqlcode.Answered(err) && !t.drawing:
		return // the transaction cannot commit, so the drawn keys are rolled back with it
	case d.ErrorsAbort && t.X.Conn.JoinedDraws == t.draws:
		return // no key was drawn, so there is nothing to roll back
	case d.ErrorsAbort && err != driver.ErrSkip:
		// The statement was not sent, so nothing has failed yet. Rolling back to a savepoint
		// that does not exist puts the transaction into the failed state, so that the numbers
		// cannot be committed without their rows.
		_ = t.X.Conn.ExecSavepoint(ctx, tx.Undo, noSavepoint)
		return
	}
	if undone := t.X.Conn.ExecSavepoint(ctx, tx.Undo, keysSavepoint); undone != nil {
		// The savepoint may be gone with the transaction, which MySQL ends at a deadlock,
		// and SQLite at OR ROLLBACK.
		t.X.Conn.MarkMaybeEnded()
		return
	}
	t.X.Fate.Undone = true
	t.unset(ctx)
}

// noSavepoint is a name that is never set, to make a ROLLBACK TO fail.
const noSavepoint = "keyfill_none"

// unset releases keyfill's savepoint. It ignores the error, since the savepoint is gone
// if the transaction has ended.
func (t *Transactional) unset(ctx context.Context) {
	_ = t.X.Conn.ExecSavepoint(ctx, t.X.Plan.Dialect.Transactions.Release, keysSavepoint)
}
