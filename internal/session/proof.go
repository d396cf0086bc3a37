package session

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// An engine may end a transaction while database/sql and the application believe that it is
// open: at a deadlock, whose error came with a second result or was not read, at a conflict
// that is resolved by a rollback, or because the application has committed it through the
// driver's connection. Each later statement is then a transaction of its own: a number
// would be reserved that no row holds, and two rows could get the same number.
//
// keyfill follows the texts of a connection, but they prove nothing. The statement that
// draws a number changes nothing if no transaction is open ([store.Joined]), and the INSERT
// is sent after a second proof, or contains it:
//
//	MariaDB      the key is an expression that fails if no transaction is open
//	MySQL        a savepoint is set before the number is drawn and released afterwards
//	SQLite       BEGIN has to fail after the number was drawn
//	PostgreSQL   nothing ends a transaction between the draw and the INSERT
//	SQL Server   nothing ends it without an error of the current statement
//
// With autocommit off, where a transaction begins implicitly, the savepoint is MariaDB's
// proof, too.

// proofSavepoint is the name of the savepoint that proves a transaction. Only keyfill
// uses it.
const proofSavepoint = "keyfill_proof"

// ProvenStore returns the tables of states as the open transaction sees them. Their
// statements that draw a number fail with [store.ErrEnded] if no transaction is open.
func (t *transaction) ProvenStore() *store.Store {
	return store.Joined(t.dialect(), t.Own(), &t.Ongoing)
}

// ProveBefore proves, before numbers are drawn, that the transaction is open, and sets the
// savepoint that ProveAfter releases. It does nothing if the statements that draw numbers
// prove it themselves. A transaction that has just begun needs no proof yet. The error is
// [store.ErrEnded] if the transaction has ended.
func (t *transaction) ProveBefore(ctx context.Context, begun bool) error {
	if !t.bySavepoint() {
		return nil
	}
	texts := &t.dialect().Transactions
	if err := t.ExecSavepoint(ctx, texts.Set, proofSavepoint); err != nil || begun {
		return err
	}
	// This rolls back to the savepoint that was just set, which undoes nothing.
	return t.provedBy(ctx, texts.Undo)
}

// ProveAfter proves that the transaction has been open since ProveBefore, for the INSERT
// that is sent next. The error is [store.ErrEnded] if the transaction has ended.
func (t *transaction) ProveAfter(ctx context.Context) error {
	switch {
	case t.bySavepoint():
		return t.provedBy(ctx, t.dialect().Transactions.Probe)
	case t.server.StatesOnConnection():
		return t.ProvenStore().Prove(ctx)
	}
	return nil
}

// bySavepoint reports whether a savepoint is needed to prove that the transaction is open.
func (t *transaction) bySavepoint() bool {
	texts := &t.dialect().Transactions
	return texts.Probe != "" && (texts.KeyOpen == "" || !t.commits.alone)
}

// provedBy sends a statement that fails if the savepoint does not exist. After a failure,
// numbers that were drawn since the savepoint are in a transaction that has begun
// implicitly, or in none; a ROLLBACK undoes their reservation.
func (t *transaction) provedBy(ctx context.Context, text string) error {
	err := t.ExecSavepoint(ctx, text, proofSavepoint)
	if err != nil && sqlcode.Is(err, t.dialect().Transactions.Ended) {
		_, failed := dbconn.Exec(context.WithoutCancel(ctx), t.Own(), "ROLLBACK", nil)
		return errors.Join(store.ErrEnded, failed)
	}
	return err
}
