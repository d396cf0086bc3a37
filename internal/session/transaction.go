package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// TxState is the state of a connection's transaction, as far as BeginTx and the texts that
// are sent show it.
type TxState uint8

// These are the states. In Unasked a statement can be sent that proves whether a
// transaction is open; in Unknown even the session's own settings are in doubt.
const (
	Outside TxState = iota // no transaction is open: each statement is a transaction of its own
	Inside                 // a transaction is open
	Unknown                // a transaction may be open
	Unasked                // the engine has to be asked whether a transaction is open
)

// transaction records the transactions of one connection: whether one is open, whether
// BeginTx or a text ends it, and what it has changed besides rows. The state follows
// BeginTx, Commit, Rollback and the texts of the application; where these do not show it,
// the engine is asked (see IsInTransaction).
type transaction struct {
	link
	InMemory bool // whether the database is in memory, and is lost with the connection

	Tx      TxState
	saved   bool          // whether the transaction may have begun with a savepoint, whose release ends it
	Ended   bool          // whether the engine has ended the transaction, and the application has not ended it yet
	Ongoing store.Ongoing // facts about the open transaction, for the store

	begun     bool // whether BeginTx has begun a transaction that has got neither Commit nor Rollback
	closed    bool // whether a text of the application has ended the transaction of BeginTx, and has begun no other one
	nested    bool // whether a text may have begun, or ended, another transaction inside of the transaction of BeginTx
	left      bool // whether a Commit has failed and may have left open a transaction that nothing ends
	unwrapped bool // whether the application has the driver's connection, and may send texts that are not seen

	// Begins counts the transactions that were seen to begin. Undos counts the events that may
	// have undone what a transaction has reserved: its begin and end, a rollback to a
	// savepoint, and all events that are not seen. Code that keeps a value for a transaction
	// keeps the count with the value, and compares.
	Begins, Undos uint64

	// Losses counts the events of Undos, and all errors of the application's texts. A
	// Commit that succeeds proves that everything its transaction did after the last such
	// event or error is stored.
	Losses uint64

	// Ends counts the events that may have ended a transaction, and stored what it has done so
	// far: a text that ends or begins a transaction, DDL, and everything that is not seen.
	Ends uint64

	OnEnd Ending // called at the end of each transaction that BeginTx has begun; may be nil

	commits knownCommits
	Altered catalogChanges

	renamed  bool   // whether a table was renamed, which other connections may not see yet
	OnRename func() // called when a table was renamed, and again when other connections see it; may be nil
}

// follow updates the state after a text with the given effect has run, or has failed with
// err.
func (t *transaction) follow(effect effects.Transaction, err error) {
	if effect == effects.TxEnds && err != nil && strings.Contains(err.Error(), noTransaction) {
		err = nil // SQLite had ended the transaction already, as an interrupted INSERT does
	}
	switch {
	case effect == effects.TxUnchanged:
	case effect == effects.TxCommits && t.Tx != Unknown,
		effect == effects.TxEnds && err != nil && t.server.IsUndone(err):
		t.Tx = Unasked
	case err != nil, effect == effects.TxUnknown:
		// A COMMIT that fails leaves the transaction open on some engines.
		t.Tx = Unknown
	case effect == effects.TxBegins:
		t.Tx, t.saved, t.Ended = Inside, false, false
		t.Begins++
	case effect == effects.TxSaves && t.Tx != Inside:
		t.Tx, t.saved = Inside, true
		t.Begins++
	case effect == effects.TxReleases && (t.Tx != Inside || t.saved):
		t.Tx = Unknown
	case effect == effects.TxEnds:
		t.Tx, t.Ended = Outside, false
	}
	if (effect == effects.TxEnds || effect == effects.TxUnknown) && !t.begun && t.dialect().Transactions.Open != "" {
		t.Ended = false // the application has ended the transaction, and the engine is asked whether another is open
	}
	if t.Tx == Outside {
		t.Altered.ends()
		if t.renamed {
			t.renames()
		}
	}
	if t.Tx == Unknown {
		t.MarkMaybeEnded()
	}
	if effect != effects.TxUnchanged {
		t.Ongoing = store.Ongoing{}
		t.Undos++
		t.Losses++
	}
	switch effect {
	case effects.TxUnchanged, effects.TxSaves, effects.TxReleases:
	default:
		t.Ends++
	}
}

// Ending is called at the end of the transactions that BeginTx has begun on a connection.
type Ending interface {
	// BeforeEnd is called before the driver's Commit or Rollback. If it returns an error
	// before a Commit, the transaction is rolled back instead.
	BeforeEnd(ctx context.Context, commits bool) error

	// AfterEnd is called with the error of the driver's Commit or Rollback.
	AfterEnd(ctx context.Context, commits bool, err error)
}

// ends notes that the transaction of a BeginTx has got its Commit or Rollback. A
// transaction that a text has begun inside of it may still be open, on an engine that
// counts nested transactions.
func (t *transaction) ends(err error) {
	nested := t.nested && t.dialect().Transactions.Open != ""
	t.begun, t.closed, t.nested = false, false, false
	t.follow(effects.TxEnds, err)
	if nested {
		t.MarkUnknown()
	}
}

// resets notes that the pool hands out the connection again, if its driver makes the server
// undo the changes of the session.
func (t *transaction) resets() {
	if t.server.Driver.ResetsSession && t.Tx != Outside {
		t.begun, t.closed, t.nested, t.Ended, t.left = false, false, false, false, false
		t.MarkUnknown()
	}
	t.commits.asked = t.commits.asked && t.server.Driver.KeepsSession
}

// NoteRan notes that a text of the application has run, or has failed with err. A text that
// was refused, or that the driver only accepts when it is prepared, has not run.
func (t *transaction) NoteRan(effect effects.Transaction, what words.Concern, err error) {
	if err != driver.ErrSkip && !unsent(err) {
		t.followText(effect, err)
		t.controlled(what)
		if err != nil || what&words.ConcernsTransaction != 0 {
			t.Losses++
		}
		if effect == effects.TxUnchanged && what&words.ConcernsTransaction != 0 {
			conflicts(t, err)
		}
		if what&words.ConcernsNames != 0 {
			t.renames()
		}
	}
}

// followText is [transaction.follow] for a text of the application. On an engine whose
// driver opens and ends transactions itself (Transactions.Driver), texts do not show
// whether a transaction is open; they only count as events that may have undone something.
func (t *transaction) followText(effect effects.Transaction, err error) {
	t.nested = t.nested || effect != effects.TxUnchanged
	if err == nil && (effect == effects.TxEnds || effect == effects.TxBegins) {
		t.closed = t.begun && effect == effects.TxEnds
	}
	t.left = t.left && (effect != effects.TxEnds || err != nil)
	if !t.dialect().Transactions.Driver {
		t.follow(effect, err)
	} else if effect != effects.TxUnchanged {
		t.Undos++
	}
}

// renames notes that a text was executed which has renamed a table, or has tried to.
func (t *transaction) renames() {
	t.renamed = t.Tx != Outside
	if t.OnRename != nil {
		t.OnRename()
	}
}

// controlled notes that a text has run which may have undone a reservation, such as a
// rollback to a savepoint.
func (t *transaction) controlled(what words.Concern) {
	if what&words.ConcernsTransaction != 0 {
		if !t.Ongoing.Ours {
			t.Ongoing = store.Ongoing{} // a rollback to a savepoint undoes the mark by which later statements recognize the transaction
		}
		t.Undos++
	}
}

// conflicts notes the error of a text that only changes the transaction if it fails: with
// OR ROLLBACK, SQLite ends the transaction at a conflict.
func conflicts(t *transaction, err error) {
	if err != nil && t.Tx == Inside && t.server.StatesOnConnection() && sqlcode.Answered(err) {
		t.Tx = Unasked
	}
}

// MarkUnknown notes that it is no longer known whether a transaction is open.
func (t *transaction) MarkUnknown() {
	t.Tx = Unknown
	t.Ends++
	t.Ongoing = store.Ongoing{}
	t.commits = knownCommits{}
}

// MarkMaybeEnded notes that the engine has probably ended the transaction. On SQLite the
// engine is asked later whether it has.
func (t *transaction) MarkMaybeEnded() {
	t.MarkUnknown()
	if t.server.StatesOnConnection() {
		t.Tx = Unasked
	}
}

// MarkEnded notes that the engine has ended a transaction which the application believes to
// be open. Statements whose keys belong to the transaction are refused until the
// application ends it.
func (t *transaction) MarkEnded() {
	t.MarkUnknown()
	t.Ended = true
}

// unwrap notes that the application has the driver's connection. From then on nothing is
// known, until a transaction begins and ends.
func (t *transaction) unwrap() {
	t.MarkUnknown()
	t.unwrapped = true
	t.Undos++
	t.Losses++
}

// unsent reports whether an error is a refusal by keyfill, after which nothing was sent.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var reason rewrite.Reason
	return errors.As(err, &reason)
}
