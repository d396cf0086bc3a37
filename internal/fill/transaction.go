package fill

import (
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// txState is whether a transaction is open on a connection, as far as it can be
// followed from BeginTx and from the texts that go by.
type txState uint8

const (
	txOutside txState = iota // none is: what is sent commits by itself
	txInside
	txUnknown
	txAsk // the engine knows
)

// transaction is what is known of the transactions of one connection: whether one is
// open, who ends it, and what it has changed besides rows. The state follows BeginTx,
// Commit, Rollback and the texts of the application; where they do not tell, the
// engine is asked (see inside).
type transaction struct {
	link
	discard  bool // the connection is as good as closed: database/sql throws it away
	inMemory bool // the database goes with the connection

	tx      txState
	saved   bool          // the transaction may have begun with a savepoint, and ends with that
	ended   bool          // a transaction that was taken to be open was none; the application has not ended it yet
	ongoing store.Ongoing // the transaction that is open

	begun     bool // BeginTx has begun one, which has got neither Commit nor Rollback
	nested    bool // a text may have begun, or ended, one inside of it
	left      bool // a Commit has failed: what it has left open nobody may end
	unwrapped bool // the application has the driver's connection: what runs on it is not seen

	// begins counts the transactions that were seen to begin, and undos the events that
	// may have undone what a transaction has reserved: its begin and end, the end of a
	// part of it, and what is not seen.
	begins, undos uint64

	commits knownCommits
	altered catalogChanges
}

// follow notes that a text has run, or has failed.
func (t *transaction) follow(effect rewrite.Transaction, err error) {
	if effect == rewrite.TxEnds && err != nil && strings.Contains(err.Error(), noTransaction) {
		err = nil // SQLite had ended it: an INSERT that is interrupted does
	}
	switch {
	case effect == rewrite.TxUnchanged:
	case effect == rewrite.TxCommits && t.tx != txUnknown,
		effect == rewrite.TxEnds && err != nil && t.server.isUndone(err):
		t.tx = txAsk
	case err != nil, effect == rewrite.TxUnknown:
		// A COMMIT that fails leaves the transaction open on some engines.
		t.tx = txUnknown
	case effect == rewrite.TxBegins:
		t.tx, t.saved, t.ended = txInside, false, false
		t.begins++
	case effect == rewrite.TxSaves && t.tx != txInside:
		t.tx, t.saved = txInside, true
		t.begins++
	case effect == rewrite.TxReleases && (t.tx != txInside || t.saved):
		t.tx = txUnknown
	case effect == rewrite.TxEnds:
		t.tx, t.ended = txOutside, false
	}
	if (effect == rewrite.TxEnds || effect == rewrite.TxUnknown) && !t.begun && t.dialect().Transactions.Open != "" {
		t.ended = false // the application has ended it, and the engine is asked what there is
	}
	if t.tx == txOutside {
		t.altered.ends()
	}
	if t.tx == txUnknown {
		t.unknown()
	}
	if effect != rewrite.TxUnchanged {
		t.ongoing = store.Ongoing{}
		t.undos++
	}
}

// ends notes that the transaction of a BeginTx has got its Commit or Rollback. One
// that a text has begun inside of it may be open still, on an engine that counts them.
func (t *transaction) ends(err error) {
	nested := t.nested && t.dialect().Transactions.Open != ""
	t.begun, t.nested = false, false
	t.follow(rewrite.TxEnds, err)
	if nested {
		t.unknown()
	}
}

// resets notes that the connection is used again by somebody else, where its driver
// has the server undo what the session has left open.
func (t *transaction) resets() {
	if t.server.Driver.ResetsSession && t.tx != txOutside {
		t.begun, t.nested, t.ended, t.left = false, false, false, false
		t.unknown()
	}
	t.commits.asked = t.commits.asked && t.server.Driver.KeepsSession
}

// ran notes that a text of the application has run, or has failed with err. A text that
// was refused, or that the driver takes only when it is prepared, has not run.
func (t *transaction) ran(effect rewrite.Transaction, what rewrite.Concern, err error) {
	if err != driver.ErrSkip && !unsent(err) {
		t.followText(effect, err)
		t.controlled(what)
	}
}

// followText is follow for a text of the application. Where a change opens a
// transaction, the driver's alone decides whether it commits by itself.
func (t *transaction) followText(effect rewrite.Transaction, err error) {
	t.nested = t.nested || effect != rewrite.TxUnchanged
	t.left = t.left && (effect != rewrite.TxEnds || err != nil)
	if !t.dialect().Transactions.Driver {
		t.follow(effect, err)
	} else if effect != rewrite.TxUnchanged {
		t.undos++
	}
}

// controlled notes that a text went by which may have undone what was
// reserved, be it back to a savepoint only.
func (t *transaction) controlled(what rewrite.Concern) {
	if what&rewrite.ConcernsTransaction != 0 {
		if !t.ongoing.Ours {
			t.ongoing = store.Ongoing{} // a rollback to a savepoint undoes its mark
		}
		t.undos++
	}
}

// unknown notes that it is not known any more whether a transaction is open.
func (t *transaction) unknown() {
	t.tx = txUnknown
	t.ongoing = store.Ongoing{}
	t.commits = knownCommits{}
}

// isOver notes that a transaction was taken to be open and is none: what is sent is
// refused until the application ends it.
func (t *transaction) isOver() {
	t.unknown()
	t.ended = true
}

// unwrap notes that the application has the driver's connection: nothing is known until
// a transaction begins and ends.
func (t *transaction) unwrap() {
	t.unknown()
	t.unwrapped = true
	t.undos++
}

// unsent reports whether a text was refused.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var reason rewrite.Reason
	return errors.As(err, &reason)
}
