package fill

import (
	"context"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// proofSavepoint is the name of the savepoint that proves it.
const proofSavepoint = "keyfill_proof"

// inside reports whether a transaction is open on the connection, or begins by
// itself. The transaction's state says where that is not known.
func (t *transaction) inside(ctx context.Context) (bool, error) {
	if err := t.settle(ctx); err != nil {
		return false, err
	}
	if t.tx == txUnknown || t.dialect().Transactions.Commits == "" {
		return t.tx == txInside, nil
	}
	if err := t.askCommits(ctx); err != nil || t.tx == txInside {
		return t.tx == txInside, err
	}
	if t.commits.alone && t.commits.chains {
		return false, errChains
	}
	if !t.commits.alone {
		t.tx = txInside // as soon as the next statement has run
	}
	return !t.commits.alone, nil
}

// askCommits asks the session, once, when what it sends commits.
func (t *transaction) askCommits(ctx context.Context) error {
	if t.commits.asked {
		return nil
	}
	row, err := t.row(ctx, t.dialect().Transactions.Commits, nil)
	if err != nil {
		return err
	}
	on, _ := integerOf(row[0])
	t.commits = knownCommits{asked: true, alone: on == 1, chains: !strings.EqualFold(textOf(row[1]), "no_chain")}
	return nil
}

// settle asks the engine whether a transaction is open where that is not known, as
// behind a procedure, or behind DDL, which commits on the side, unless it fails
// before.
func (t *transaction) settle(ctx context.Context) error {
	texts := &t.dialect().Transactions
	if texts.Open != "" && (t.tx == txUnknown || t.tx == txAsk || t.unwrapped) && !t.ended {
		return t.askOpen(ctx, texts.Open)
	}
	if t.tx != txAsk {
		return nil
	}
	if texts.Probe == "" {
		t.unknown()
		return nil
	}
	for _, text := range []string{texts.Set, texts.Probe} {
		_, err := dbconn.Exec(ctx, t.conn, strings.Replace(text, "%", proofSavepoint, 1), nil)
		switch {
		case err == nil:
		case sqlcode.Is(err, texts.Ended):
			t.tx = txOutside
			return nil
		default:
			return err
		}
	}
	t.tx = txInside
	return nil
}

// askOpen asks the session whether a transaction is open. Where database/sql has one
// that is none any more, its statements are refused until it ends: they would be
// committed one by one. Where a Commit has failed and left one open, they are refused
// too: nobody would commit them.
func (t *transaction) askOpen(ctx context.Context, question string) error {
	row, err := t.row(ctx, question, nil)
	if err != nil {
		return err
	}
	switch open, ok := integerOf(row[0]); {
	case ok && open == 1 && !(t.left && !t.begun):
		if t.tx != txInside {
			t.tx, t.saved = txInside, false
			t.begins++
			t.nested = true // it may be more than one
		}
	case ok && open == 0 && !t.begun:
		t.tx, t.left = txOutside, false
	default:
		t.unknown()
		t.ended = t.begun && open == 0
	}
	return nil
}

// errChains is for a session in which a transaction of ours could not be ended.
var errChains = errors.New("keyfill: completion_type is not NO_CHAIN, so that a commit begins another transaction: begin one with BeginTx")

// knownCommits is what a session has said of its transactions, for as long as
// nothing was sent that may change it.
type knownCommits struct {
	asked  bool
	alone  bool // what is sent outside of transactions commits by itself
	chains bool // something follows a commit
}

// joinedStore returns the tables of states as the open transaction sees them, which
// proves that it is open where numbers are drawn: see [store.Joined].
func (t *transaction) joinedStore() *store.Store {
	return store.Joined(t.dialect(), t.conn, &t.ongoing)
}

// undo ends a transaction of ours if what was to end it has failed. Where that
// fails too, it ends with the connection; but what a database in memory holds is
// worth more than to know whether a transaction is open.
func (t *transaction) undo(ctx context.Context, failed error) {
	if failed == nil {
		return
	}
	_, err := dbconn.Exec(context.WithoutCancel(ctx), t.conn, "ROLLBACK", nil)
	if err == nil || strings.Contains(err.Error(), noTransaction) {
		return
	}
	if ask := t.dialect().Transactions.Open; ask != "" && t.askOpen(context.WithoutCancel(ctx), ask) == nil && t.tx == txOutside {
		return // the engine had ended it
	}
	t.unusable()
}

// unusable notes that a transaction may be open which nobody ends. The connection is
// closed for that, unless its database would go with it.
func (t *transaction) unusable() {
	t.unknown()
	t.discard = !t.inMemory
}

// noTransaction is part of SQLite's message for a ROLLBACK outside of a
// transaction.
const noTransaction = "no transaction is active"

// nestedBegin is part of SQLite's message for a BEGIN inside a transaction
// (sqlite3VdbeExec, OP_AutoCommit), of which there is no code.
const nestedBegin = "within a transaction"

// isNestedBegin reports whether SQLite has refused a BEGIN since a transaction is open.
func isNestedBegin(err error) bool { return strings.Contains(err.Error(), nestedBegin) }
