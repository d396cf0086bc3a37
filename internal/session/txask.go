package session

import (
	"context"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// IsInTransaction reports whether a transaction is open on the connection, or the next
// statement begins one implicitly. If that is not known, it asks the engine; see Settle.
func (t *transaction) IsInTransaction(ctx context.Context) (bool, error) {
	if err := t.Settle(ctx); err != nil {
		return false, err
	}
	if t.Tx == Unknown || t.dialect().Transactions.Commits == "" {
		return t.Tx == Inside, nil
	}
	if err := t.askCommits(ctx); err != nil || t.Tx == Inside {
		return t.Tx == Inside, err
	}
	if t.commits.alone && t.commits.chains {
		return false, ErrChains
	}
	if !t.commits.alone {
		t.Tx = Inside // the next statement begins a transaction
	}
	return !t.commits.alone, nil
}

// askCommits asks the session whether each of its statements commits at once. It asks only
// once.
func (t *transaction) askCommits(ctx context.Context) error {
	if t.commits.asked {
		return nil
	}
	alone, chains, err := t.AskCommits(ctx)
	if err != nil {
		return err
	}
	t.commits = knownCommits{asked: true, alone: alone, chains: chains}
	return nil
}

// AskCommits asks the session whether each statement outside of transactions is committed
// at once, and whether another transaction begins after a commit.
func (t *transaction) AskCommits(ctx context.Context) (alone, chains bool, err error) {
	row, err := t.QueryRow(ctx, t.dialect().Transactions.Commits, nil)
	if err != nil {
		return false, false, err
	}
	on, _ := IntegerOf(row[0])
	return on == 1, !strings.EqualFold(TextOf(row[1]), "no_chain"), nil
}

// Settle asks the engine whether a transaction is open if that is not known, as after a
// procedure, or after DDL, which commits implicitly, unless it fails before.
func (t *transaction) Settle(ctx context.Context) error {
	if native, ok := t.Raw.(NativeConn); ok {
		t.told(native.InTransaction())
		return nil
	}
	texts := &t.dialect().Transactions
	if texts.Open != "" && (t.Tx == Unknown || t.Tx == Unasked || t.unwrapped) && !t.Ended {
		return t.askOpen(ctx, texts.Open)
	}
	if t.Tx != Unasked {
		return nil
	}
	if t.server.StatesOnConnection() {
		return askProof(ctx, t)
	}
	if texts.Probe == "" {
		t.MarkUnknown()
		return nil
	}
	for _, text := range []string{texts.Set, texts.Probe} {
		err := t.ExecSavepoint(ctx, text, proofSavepoint)
		switch {
		case err == nil:
		case sqlcode.Is(err, texts.Ended):
			t.Tx = Outside
			return nil
		default:
			return err
		}
	}
	t.Tx = Inside
	return nil
}

// askProof settles whether a transaction is open, by the proof that is in the statements
// which draw numbers. If a transaction has ended and the application believes that it is
// open, the application's statements are refused until it ends the transaction: they would
// be committed one by one.
func askProof(ctx context.Context, t *transaction) error {
	err := store.Joined(t.dialect(), t.Raw, &store.Ongoing{}).Prove(ctx)
	switch {
	case err == nil:
		t.Tx = Inside
	case !errors.Is(err, store.ErrEnded):
		return err
	case t.begun && !t.closed:
		t.MarkEnded()
	default:
		t.Tx = Outside
		t.Altered.ends()
	}
	return nil
}

// IsProvenOpen reports whether a transaction is open. It asks the engine if the engine may
// have ended the transaction without an error that was seen: after a deadlock MySQL and
// MariaDB commit each statement at once, and still accept a ROLLBACK.
func (t *transaction) IsProvenOpen(ctx context.Context) bool {
	if t.Tx != Inside || t.dialect().Transactions.Probe == "" {
		return t.Tx == Inside
	}
	t.Tx = Unasked
	return t.Settle(ctx) == nil && t.Tx == Inside
}

// askOpen asks the session whether a transaction is open. If the transaction of
// database/sql has ended, its statements are refused until the application ends it: they
// would be committed one by one. If a Commit has failed and left a transaction open, they
// are refused too: they would never be committed.
func (t *transaction) askOpen(ctx context.Context, question string) error {
	row, err := t.QueryRow(ctx, question, nil)
	if err != nil {
		return err
	}
	switch open, ok := IntegerOf(row[0]); {
	case ok && open == 1 && !(t.left && !t.begun):
		if t.Tx != Inside {
			t.Tx, t.saved = Inside, false
			t.Begins++
			t.nested = true // several transactions may have begun, one inside another
		}
	case ok && open == 0 && !t.begun:
		t.Tx, t.left = Outside, false
	default:
		t.MarkUnknown()
		t.Ended = t.begun && open == 0
	}
	return nil
}

// ErrChains is returned when the session begins another transaction after each commit, so
// that a transaction of keyfill's own would never end.
var ErrChains = anchor.Last("transaction-ended", "keyfill: completion_type is not NO_CHAIN, so that a commit begins another transaction: begin one with BeginTx")

// knownCommits is the session's answer about its commits. It is valid until something is
// sent that may change it.
type knownCommits struct {
	asked  bool
	alone  bool // whether a statement outside of transactions is committed at once
	chains bool // whether another transaction begins after a commit
}

// EndFailed rolls back a transaction of keyfill's own whose Commit or Rollback has failed
// with the given error. It does nothing if the error is nil. If the ROLLBACK fails too, the
// connection is closed, unless a database in memory would be lost with it.
func (t *transaction) EndFailed(ctx context.Context, failed error) {
	if failed == nil {
		return
	}
	_, err := dbconn.Exec(context.WithoutCancel(ctx), t.Own(), "ROLLBACK", nil)
	if err == nil || strings.Contains(err.Error(), noTransaction) {
		return
	}
	if ask := t.dialect().Transactions.Open; ask != "" && t.askOpen(context.WithoutCancel(ctx), ask) == nil && t.Tx == Outside {
		return // the engine had ended the transaction
	}
	t.MarkUnusable()
}

// MarkUnusable notes that a transaction may be open which no code will end. database/sql
// then closes the connection, unless a database in memory would be lost with it.
func (t *transaction) MarkUnusable() {
	t.MarkUnknown()
	t.discard = !t.InMemory
}

// noTransaction is part of SQLite's message for a ROLLBACK outside of a
// transaction.
const noTransaction = "no transaction is active"

// nestedBegin is part of SQLite's message for a BEGIN inside a transaction
// (sqlite3VdbeExec, OP_AutoCommit), which has no code of its own.
const nestedBegin = "within a transaction"

// IsNestedBegin reports whether SQLite has refused a BEGIN because a transaction is open.
func IsNestedBegin(err error) bool { return strings.Contains(err.Error(), nestedBegin) }
