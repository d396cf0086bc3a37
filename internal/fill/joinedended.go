package fill

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// An engine may end a transaction while database/sql and the application take it to
// be open: at a deadlock, whose error came with a second result or was nobody's to
// see, at a conflict that is resolved by a rollback, or because somebody has
// committed it below us. What is sent behind that commits by itself: a number would
// be reserved that no row holds, and two could get the same.
//
// What goes by on a connection is followed, but that is no proof. The statement that
// draws a number changes nothing where no transaction is open ([store.Joined]), and
// the INSERT proves it again:
//
//	MariaDB      the key is an expression that fails where no transaction is open
//	MySQL        a savepoint is set in front of the drawing and let go behind it
//	SQLite       BEGIN has to fail behind the drawing
//	PostgreSQL   nothing ends a transaction between the two
//	SQL Server   likewise, without an error that the statement in hand gets
//
// With autocommit off, where a transaction begins by itself, the savepoint is
// MariaDB's proof, too.

// errEnded is for an INSERT in a transaction that is none any more.
var errEnded = errors.New("keyfill: the transaction was ended before this INSERT, by the engine at an error, such as a deadlock, or by a commit that was not seen: roll it back, and begin again")

// bySavepoint reports whether it takes a savepoint to prove that the transaction of
// an execution is open.
func (x *execution) bySavepoint() bool {
	t := &x.plan.Dialect().Transactions
	return t.Probe != "" && (t.KeyOpen == "" || !x.guard.Commits.Alone)
}

// proveBefore proves that the transaction is open in front of the drawing, where the
// statements that draw do not, and sets the savepoint that proveBehind lets go.
func (x *execution) proveBefore(ctx context.Context) error {
	if !x.joining.any || !x.bySavepoint() {
		return nil
	}
	t := &x.plan.Dialect().Transactions
	if err := x.control(ctx, t.Set, session.ProofSavepoint); err != nil {
		return err
	}
	if x.own != nil {
		return nil // which has just begun
	}
	// It goes back to what was just set, and nothing else.
	return x.provedBy(ctx, t.Undo)
}

// proveBehind proves that the transaction has been open since proveBefore, for the
// INSERT that is sent next.
func (x *execution) proveBehind(ctx context.Context) error {
	switch {
	case !x.joining.any:
		return nil
	case x.bySavepoint():
		return x.provedBy(ctx, x.plan.Dialect().Transactions.Probe)
	case x.guard.DB.OnConnection():
		return x.guard.Proven().Prove(ctx)
	}
	return nil
}

// provedBy sends a statement that fails without the savepoint. What was drawn since
// it was set is then in a transaction that has begun by itself, if in any.
func (x *execution) provedBy(ctx context.Context, text string) error {
	err := x.control(ctx, text, session.ProofSavepoint)
	if err != nil && sqlcode.Is(err, x.plan.Dialect().Transactions.Ended) {
		_, failed := dbconn.Exec(context.WithoutCancel(ctx), x.guard.Raw, "ROLLBACK", nil)
		return errors.Join(store.ErrEnded, failed)
	}
	return err
}

// unlessEnded returns the error of a transaction that has ended in the place of the proof
// that has failed, and any other as it is.
func (x *execution) unlessEnded(err error) error {
	switch {
	case err == nil, !x.joining.any:
		return err
	case errors.Is(err, store.ErrEnded):
	case !x.proofFailed(err):
		return err
	}
	if x.own == nil {
		x.guard.MarkOver()
	}
	return errEnded
}

// undoneBehind returns the error of what was asked, or done, behind a statement that has
// succeeded, where that has ended its transaction: what the statement has stored is gone,
// and what is sent next would commit by itself. It is nil where the transaction is open
// still, and where it can only be rolled back, so that its commit will tell.
func (g *Conn) undoneBehind(ctx context.Context, err error) error {
	switch {
	case err == nil, g.Tx == session.Outside, g.DB.known().dialect.ErrorsAbort:
		return nil
	case g.DB.IsUndone(err):
		return err
	case !g.DB.OnConnection() || g.Tx != session.Inside:
		return nil
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	if errors.Is(g.Proven().Prove(ctx), store.ErrEnded) {
		g.MarkOver()
		return fmt.Errorf("%w: %v", errEnded, err) // which may be driver.ErrBadConn
	}
	return nil
}

// proofFailed reports whether an error is that of the INSERT's proof.
func (x *execution) proofFailed(err error) bool {
	t := &x.plan.Dialect().Transactions
	return x.plan.Proves() && sqlcode.Is(err, t.KeyNumber) && strings.Contains(err.Error(), t.KeyText)
}
