package fill

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// keysSavepoint is the name of ours, which nobody else uses.
const keysSavepoint = "keyfill_keys"

// join enters the transaction that the execution's keys belong to.
func (x *execution) join(ctx context.Context) error {
	if !x.joining.any {
		return nil
	}
	g := x.conn
	x.undone = false
	inside, err := g.Inside(ctx)
	switch {
	case err != nil:
		return err
	case g.Tx == session.Unknown && g.Ended:
		return errEnded
	case g.Tx == session.Unknown:
		return x.plan.Refused(rewrite.ErrTransaction)
	case x.joining.whole && x.leavesOut():
		return x.plan.Refused(rewrite.ErrGap)
	case x.plan.Statements > 1 && !(inside && (x.plan.Dialect().ErrorsAbort || !x.joining.gapFree)):
		return x.plan.Refused(rewrite.ErrTogether)
	case !inside:
		return x.beginOwn(ctx)
	case x.joining.gapFree:
		return x.mark(ctx)
	}
	return nil
}

// leavesOut reports whether a table leaves out rows by itself.
func (x *execution) leavesOut() bool {
	for i := range x.plan.Inserts {
		if f := keys.TableOf(&x.plan.Inserts[i]).Facts(); f != nil && f.OwnConflicts {
			return true
		}
	}
	return false
}

// mark sets our savepoint. It sets none on an engine where an error leaves only a
// rollback of the whole transaction, which undoes the draw anyway, unless the driver
// may answer driver.ErrSkip, which is no error of the engine.
func (x *execution) mark(ctx context.Context) error {
	d := x.plan.Dialect()
	if x.conn.DB.StatesOnConnection() {
		// Where there is none, a savepoint of SQLite begins one.
		if err := x.conn.ProvenStore().Prove(ctx); err != nil {
			return x.unlessEnded(err)
		}
	}
	if x.pointSet = !d.ErrorsAbort || !x.conn.DB.Driver.Executes; x.pointSet {
		err := x.control(ctx, d.Transactions.Set, keysSavepoint)
		if err != nil && d.Transactions.Open != "" && sqlcode.Is(err, d.Transactions.Ended) {
			return x.unlessEnded(store.ErrEnded)
		}
		if err != nil {
			return err
		}
	}
	x.marked, x.draws = true, x.conn.JoinedDraws
	return nil
}

// control sends a statement for a savepoint.
func (x *execution) control(ctx context.Context, text, savepoint string) error {
	return x.conn.ExecSavepoint(ctx, text, savepoint)
}

// beginOwn begins a transaction for the execution alone.
func (x *execution) beginOwn(ctx context.Context) error {
	g := x.conn
	g.EnsureStates(ctx)
	var opts driver.TxOptions
	if x.joining.latest && x.plan.Dialect().Transactions.Snapshots {
		// Under REPEATABLE READ the first statement, which waits for the lock,
		// would fix what the ones behind it see.
		opts.Isolation = driver.IsolationLevel(sql.LevelReadCommitted)
	}
	own, err := g.BeginDriver(ctx, opts)
	if err != nil {
		if session.IsNestedBegin(err) {
			g.MarkUnknown()
			return x.plan.Refused(rewrite.ErrTransaction)
		}
		return err
	}
	x.own, g.Tx = own, session.Inside
	g.Ongoing = store.Ongoing{Ours: true}
	return nil
}

// leave ends what join has begun, for a statement that has ended in err, and
// returns its error, or that of the commit.
func (x *execution) leave(ctx context.Context, err error) error {
	if x.own == nil && !x.marked {
		return err
	}
	// What was begun has to end, even for a caller who has gone.
	ctx = context.WithoutCancel(ctx)
	switch {
	case x.own != nil:
		own := x.own
		x.own = nil
		return x.end(ctx, own, err)
	case x.marked:
		x.marked = false
		x.unmark(ctx, err)
	}
	return err
}

// end ends our own transaction.
func (x *execution) end(ctx context.Context, own driver.Tx, err error) error {
	g := x.conn
	g.Tx = session.Outside
	g.Ongoing = store.Ongoing{}
	if err != nil {
		x.undone = true
		g.EndFailed(ctx, own.Rollback())
		return err
	}
	err = own.Commit()
	if err == nil {
		return nil
	}
	// One that could not be committed stays open: SQLITE_BUSY.
	g.EndFailed(ctx, err)
	if isBadConn(err) {
		// The commit was sent: it must not look as if all could be sent again.
		t := keys.TableOf(&x.plan.Inserts[0])
		return t.NewError(t.Table, t.KeyColumns[0].Name, -1, fmt.Errorf("%w: %v", errCommit, err))
	}
	return err
}

// errCommit is for a transaction of ours whose connection broke at its end.
var errCommit = errors.New("the connection broke at the commit, so that it is not known whether the row is stored")

// unmark undoes what was drawn since our savepoint where the statement has
// failed.
func (x *execution) unmark(ctx context.Context, err error) {
	d := x.plan.Dialect()
	t := &d.Transactions
	switch {
	case err == nil && !x.pointSet:
		return
	case err == nil:
		x.unset(ctx)
		return
	case d.ErrorsAbort && sqlcode.Answered(err) && !x.drawing:
		return // it cannot commit
	case d.ErrorsAbort && x.conn.JoinedDraws == x.draws:
		return // nothing was drawn
	case d.ErrorsAbort && err != driver.ErrSkip:
		// The statement was not sent, so nothing has failed yet. Rolling back to a
		// savepoint that does not exist puts the transaction into the failed state,
		// so that the numbers cannot be committed without their rows.
		_ = x.control(ctx, t.Undo, noSavepoint)
		return
	}
	if undone := x.control(ctx, t.Undo, keysSavepoint); undone != nil {
		x.conn.MarkUnknown() // MySQL ends the transaction at a deadlock
		return
	}
	x.undone = true
	x.unset(ctx)
}

// noSavepoint is a name that is never set, to make a ROLLBACK TO fail.
const noSavepoint = "keyfill_none"

// unset lets our savepoint go. It is gone already where the transaction has ended.
func (x *execution) unset(ctx context.Context) {
	_ = x.control(ctx, x.plan.Dialect().Transactions.Release, keysSavepoint)
}
