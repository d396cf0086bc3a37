package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
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

// follow notes that a text has run, or has failed.
func (g *guard) follow(effect rewrite.Transaction, err error) {
	if effect == rewrite.TxEnds && err != nil && strings.Contains(err.Error(), noTransaction) {
		err = nil // SQLite had ended it: an INSERT that is interrupted does
	}
	switch {
	case effect == rewrite.TxUnchanged:
	case effect == rewrite.TxCommits && g.tx != txUnknown,
		effect == rewrite.TxEnds && err != nil && g.db.transactionUndone(err):
		g.tx = txAsk
	case err != nil, effect == rewrite.TxUnknown:
		// A COMMIT that fails leaves the transaction open on some engines.
		g.tx = txUnknown
	case effect == rewrite.TxBegins:
		g.tx, g.saved, g.ended = txInside, false, false
		g.drawnBefore = g.joinedDraws
	case effect == rewrite.TxSaves && g.tx != txInside:
		g.tx, g.saved, g.drawnBefore = txInside, true, g.joinedDraws
	case effect == rewrite.TxReleases && (g.tx != txInside || g.saved):
		g.tx = txUnknown
	case effect == rewrite.TxEnds:
		g.tx, g.ended = txOutside, false
	}
	if (effect == rewrite.TxEnds || effect == rewrite.TxUnknown) && !g.begun && g.db.known().dialect.Transactions.Open != "" {
		g.ended = false // the application has ended it, and the engine is asked what there is
	}
	if g.altered.on && g.tx == txOutside {
		g.altered.ends()
	}
	if g.tx == txUnknown {
		g.unknown()
	}
	if effect != rewrite.TxUnchanged {
		g.ongoing = store.Ongoing{}
		g.dropJoined()
	}
}

// ends notes that the transaction of a BeginTx has got its Commit or Rollback. One
// that a text has begun inside of it may be open still, on an engine that counts them.
func (g *guard) ends(err error) {
	nested := g.nested && g.db.known().dialect.Transactions.Open != ""
	g.begun, g.nested = false, false
	g.follow(rewrite.TxEnds, err)
	if nested {
		g.unknown()
	}
}

// resets notes that the connection is used again by somebody else, where its driver
// has the server undo what the session has left open.
func (g *guard) resets() {
	if g.db.driver.ResetsSession && g.tx != txOutside {
		g.begun, g.nested, g.ended, g.left = false, false, false, false
		g.unknown()
	}
}

// followText is follow for a text of the application. Where a change opens a
// transaction, the driver's alone decides whether it commits by itself.
func (g *guard) followText(effect rewrite.Transaction, err error) {
	g.nested = g.nested || effect != rewrite.TxUnchanged
	g.left = g.left && (effect != rewrite.TxEnds || err != nil)
	if !g.db.known().dialect.Transactions.Driver {
		g.follow(effect, err)
	} else if effect != rewrite.TxUnchanged {
		g.dropJoined()
	}
}

// transactionUndone reports whether the engine has answered that it undid a
// transaction for the sake of others, such as another node's.
func (db *database) transactionUndone(err error) bool {
	return sqlcode.ClassOf(db.known().dialect, err) == dialect.ErrorTransaction
}

// dropJoined gives up the parked keys that were reserved on this connection: a
// transaction may have given them back.
func (g *guard) dropJoined() {
	g.parked = slices.DeleteFunc(g.parked, func(x *execution) bool { return !x.autonomous() })
}

// controlled notes that a text went by which may have undone what was
// reserved, be it back to a savepoint only.
func (g *guard) controlled(what rewrite.Concern) {
	if what&rewrite.ConcernsTransaction != 0 {
		if !g.ongoing.Ours {
			g.ongoing = store.Ongoing{} // a rollback to a savepoint undoes its mark
		}
		g.dropJoined()
	}
}

// effect returns what a text does to the transaction of its connection.
func (db *database) effect(query string, what rewrite.Concern) rewrite.Transaction {
	if what&rewrite.ConcernsTransaction == 0 {
		return rewrite.TxUnchanged
	}
	effect := db.known().transaction(query)
	if db.engine.Load() == nil {
		for _, e := range db.either[1:] {
			if e.transaction(query) != effect {
				return rewrite.TxUnknown
			}
		}
	}
	return effect
}

// unsent reports whether a text was refused.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var reason rewrite.Reason
	return errors.As(err, &reason)
}

// execText executes a text that may be an INSERT, or begin or end a
// transaction.
func (db *database) execText(ctx context.Context, g *guard, query string, args []driver.NamedValue, what rewrite.Concern) (driver.Result, error) {
	g.makes(query, what)
	effect := db.effect(query, what)
	res, err := driver.Result(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		res, err = db.exec(ctx, g, query, args)
	} else {
		res, err = g.ExecContext(ctx, query, args)
	}
	if err != driver.ErrSkip && !unsent(err) {
		g.followText(effect, err)
		g.controlled(what)
	}
	return res, err
}

// queryText is execText for a text that gives rows.
func (db *database) queryText(ctx context.Context, g *guard, query string, args []driver.NamedValue, what rewrite.Concern) (driver.Rows, error) {
	g.makes(query, what)
	effect := db.effect(query, what)
	rows, err := driver.Rows(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		rows, err = db.query(ctx, g, query, args)
	} else {
		rows, err = g.QueryContext(ctx, query, args)
	}
	if err != driver.ErrSkip && !unsent(err) {
		g.followText(effect, err)
		g.controlled(what)
	}
	return rows, err
}

// prepareText prepares a text that may be an INSERT, or begin or end a transaction
// when it is executed.
func (db *database) prepareText(ctx context.Context, g *guard, query string, what rewrite.Concern) (driver.Stmt, error) {
	g.makes(query, what)
	stmt, err := driver.Stmt(nil), error(nil)
	if what&rewrite.ConcernsInsert != 0 {
		stmt, err = db.prepare(ctx, g, query)
	} else {
		stmt, err = g.PrepareContext(ctx, query)
	}
	if err != nil || what&rewrite.ConcernsTransaction == 0 {
		return stmt, err
	}
	effect := db.effect(query, what)
	if db.onConnection() && effect != rewrite.TxUnchanged && strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";") {
		effect = rewrite.TxUnknown // some drivers for SQLite prepare the first statement alone
	}
	return &controlling{stmt, g, effect, what}, nil
}
