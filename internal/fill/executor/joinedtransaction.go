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

// keysSavepoint is the name of keyfill's savepoint, which no application uses.
const keysSavepoint = "keyfill_keys"

// Transactional executes statements whose keys are drawn in their transaction: the
// transaction that is open on the connection, or one of ours around the drawing and the
// INSERT.
type Transactional struct {
	X       *execution.Execution
	Needs   Joining
	counted *InsertSelect  // nil if no rows of a query are counted before the transaction
	within  *countedWithin // nil where none are counted in it

	own       driver.Tx     // the transaction, where it is ours
	marked    bool          // the draws may have to be undone
	pointSet  bool          // our savepoint (keysSavepoint) is set
	draws     uint64        // keys.Conn.JoinedDraws when the savepoint was set
	yields    bool          // the statement is sent without what cannot be done for it
	drawing   bool          // nothing was sent yet: an error may come from another connection
	committed bool          // our transaction was ended by commit, with an error or without
	forgotten bool          // it was made again since the server had forgotten the prepared statements
	remade    bool          // it was made again since keyfill's tables were gone
	tries     session.Again // of our transaction
}

// Exec sends the statement in the transaction of its keys, and commits that if it is ours.
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
		res, err = nil, left // it was not committed
	}
	return res, err
}

// Query is Exec for a statement that gives rows.
func (t *Transactional) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := sendJoined(ctx, t, false, func() (driver.Rows, error) { return via.SendQuery(ctx, t.X) })
	if err != nil {
		return rows, t.Leave(ctx, err)
	}
	follows := &t.X.Follows
	if t.own == nil && !t.marked && !follows.Any() {
		return rows, nil
	}
	read, err := readWhole(t.X.Conn, rows, func(sets []resultSet, err error) error {
		if err == nil {
			err = RaiseStored(ctx, follows)
		}
		if err == nil {
			err = t.within.checkRead(ctx, sets)
		}
		return t.Leave(ctx, t.unlessEnded(err))
	})
	if err != nil {
		return nil, t.within.told(ctx, err)
	}
	if err := outcome.RaiseAfter(ctx, follows); err != nil {
		return nil, err
	}
	return read, nil
}

// Ask finds out which rows were stored while the transaction is still open.
func (t *Transactional) Ask(ctx context.Context, res driver.Result) {
	outcome.AnswerTo(t.X, res).Settle(ctx)
	t.X.Fate.Asked = true
}

// join enters the transaction that the execution's keys belong to.
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

// Unfit returns a refusal if the execution does not suit the transaction that its keys
// belong to, nil if it does. inside reports whether the application has begun that
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

// leavesOut reports whether a trigger or constraint of a table may drop rows silently.
func leavesOut(c *execution.Conn, p *plans.Plan) bool {
	for i := range p.Inserts {
		if f := execution.FactsOf(c, table.Of(&p.Inserts[i])); f != nil && f.OwnConflicts {
			return true
		}
	}
	return false
}

// mark sets our savepoint. It sets none on an engine where an error leaves only a
// rollback of the whole transaction, which undoes the draw anyway, unless the driver
// may answer driver.ErrSkip, which is no error of the engine.
func (t *Transactional) mark(ctx context.Context) error {
	d := t.X.Plan.Dialect
	if t.X.Conn.DB.StatesOnConnection() {
		// If no transaction is open, a savepoint of SQLite begins one.
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

// beginOwn begins a transaction for the execution alone.
func (t *Transactional) beginOwn(ctx context.Context) error {
	c := t.X.Conn
	c.EnsureStates(ctx)
	var opts driver.TxOptions
	if t.Needs.Latest && t.X.Plan.Dialect.Transactions.Snapshots {
		// Under REPEATABLE READ the first statement, which waits for the lock, would fix
		// the snapshot of the later ones.
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

// Leave ends what join has begun, for a statement that has ended in err. It returns err,
// or the error of the commit.
func (t *Transactional) Leave(ctx context.Context, err error) error {
	if t.own == nil && !t.marked {
		return err
	}
	if err != nil {
		t.X.Conn.Drawn.Forget()
	}
	// The transaction has to end, even if the caller's context has ended.
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

// end ends our own transaction.
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
	// One that could not be committed stays open: SQLITE_BUSY.
	c.EndFailed(ctx, err)
	if execution.IsBadConn(err) {
		// The commit was sent: it must not look as if all could be sent again.
		table := table.Of(&t.X.Plan.Inserts[0])
		return table.NewError(table.Table, table.KeyColumns[0].Name, -1, fmt.Errorf("%w: %v", errCommit, err))
	}
	return err
}

// errCommit is returned when the connection broke at the commit of a transaction of ours.
var errCommit = anchor.New("commit-unknown", "the connection broke at the commit, so that it is not known whether the row is stored")

// unmark rolls back the draws since our savepoint if the statement has failed.
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
		// It is undone to the savepoint on each engine. Any other error leaves the
		// transaction as it does without keyfill.
	case d.ErrorsAbort && sqlcode.Answered(err) && !t.drawing:
		return // it cannot commit
	case d.ErrorsAbort && t.X.Conn.JoinedDraws == t.draws:
		return // nothing was drawn
	case d.ErrorsAbort && err != driver.ErrSkip:
		// The statement was not sent, so nothing has failed yet. Rolling back to a
		// savepoint that does not exist puts the transaction into the failed state,
		// so that the numbers cannot be committed without their rows.
		_ = t.X.Conn.ExecSavepoint(ctx, tx.Undo, noSavepoint)
		return
	}
	if undone := t.X.Conn.ExecSavepoint(ctx, tx.Undo, keysSavepoint); undone != nil {
		// MySQL ends the transaction at a deadlock, SQLite at OR ROLLBACK.
		t.X.Conn.MarkMaybeEnded()
		return
	}
	t.X.Fate.Undone = true
	t.unset(ctx)
}

// noSavepoint is a name that is never set, to make a ROLLBACK TO fail.
const noSavepoint = "keyfill_none"

// unset releases our savepoint. It is gone already where the transaction has ended.
func (t *Transactional) unset(ctx context.Context) {
	_ = t.X.Conn.ExecSavepoint(ctx, t.X.Plan.Dialect.Transactions.Release, keysSavepoint)
}
