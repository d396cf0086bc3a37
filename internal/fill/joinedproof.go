package fill

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// errEnded is returned when the transaction of an INSERT has ended before it.
var errEnded = anchor.Last("transaction-ended", "keyfill: the transaction was ended before this INSERT, by the engine at an error, such as a deadlock, or by a commit that was not seen: roll it back, and begin again")

// proveBefore proves in front of the drawing that the transaction of an execution is
// open: see [session.Conn.ProveBefore].
func (t *transactional) proveBefore(ctx context.Context) error {
	return t.x.conn.ProveBefore(ctx, t.own != nil)
}

// proveBehind proves behind the drawing that the transaction has been open since
// proveBefore, for the INSERT that is sent next.
func (t *transactional) proveBehind(ctx context.Context) error {
	return t.x.conn.ProveAfter(ctx)
}

// unlessEnded returns the error of a transaction that has ended in the place of the proof
// that has failed, and any other as it is.
func (t *transactional) unlessEnded(err error) error {
	switch {
	case err == nil:
		return err
	case errors.Is(err, store.ErrEnded):
	case !t.proofFailed(err):
		return err
	}
	if t.own == nil {
		t.x.conn.MarkEnded()
	}
	return errEnded
}

// undoneBehind takes the error of what was asked, or done, after a statement succeeded.
// It returns an error if the transaction has ended: the statement's rows are gone, and
// what is sent next would commit by itself. It returns nil if the transaction is still
// open, or can only be rolled back, since its COMMIT will then report that.
func undoneBehind(ctx context.Context, c *connection, err error) error {
	switch {
	case err == nil, c.Tx == session.Outside, c.DB.AnyEngine().Dialect.ErrorsAbort:
		return nil
	case c.DB.IsUndone(err):
		return err
	case !c.DB.StatesOnConnection() || c.Tx != session.Inside:
		return nil
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	if errors.Is(c.ProvenStore().Prove(ctx), store.ErrEnded) {
		c.MarkEnded()
		return anchor.End(fmt.Errorf("%w: %v", errEnded, err)) // which may be driver.ErrBadConn
	}
	return nil
}

// proofFailed reports whether the proof in the INSERT has failed with this error.
func (t *transactional) proofFailed(err error) bool {
	tx := &t.x.plan.Dialect().Transactions
	return t.x.plan.ProvesOpen() && sqlcode.Is(err, tx.KeyNumber) && strings.Contains(err.Error(), tx.KeyText)
}
