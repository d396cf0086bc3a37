package store

//row:changes | how the store proves that a transaction is open | `internal/store/opentransaction.go`; the words of an engine in `engine.Proof`

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// ErrEnded is returned by a store of [Joined] when no transaction is open on its
// connection: the engine has rolled it back after a deadlock or a conflict, or a
// statement has committed it. No integer was reserved.
var ErrEnded = anchor.New("transaction-ended", "the transaction has ended")

// Ongoing describes a transaction on a connection of the application that keyfill
// believes to be open. One value serves a transaction from its beginning to its end.
type Ongoing struct {
	// Ours reports whether the transaction was begun for one statement, and only
	// keyfill's statements have run in it.
	Ours bool

	marked bool // Proof.Mark was executed; a rollback may have undone it since
}

// Joined returns a store as [Within] does, for a transaction that may end without
// keyfill's knowledge. It reserves integers by statements that change nothing if no
// transaction is open; the error is [ErrEnded] then:
//
//	MariaDB       the UPDATE asks @@in_transaction
//	PostgreSQL    the UPDATE reads a setting that ends with the transaction
//	SQLite        BEGIN has to fail before the UPDATE
//	SQL Server    the UPDATE stands after IF @@TRANCOUNT > 0
//	MySQL         no condition shows it; see [dialect.Transactions].Probe
//	Oracle        a change opens a transaction, if the driver does not commit it
//
// The caller has to prove that the transaction did not end between the reservation and
// the row that gets the key.
func Joined(d *dialect.Dialect, c driver.Conn, tx *Ongoing) *Store {
	r := Within(d, c)
	if words := &r.Engine.Proof; !tx.Ours || !words.TellsEnd {
		r.Proof = &Prover{words, r.Conn, tx}
	}
	return r
}

// Prover sends statements that prove that a transaction of the application is open. A
// nil Prover proves nothing: its methods send no statement.
type Prover struct {
	words *engine.Proof
	conn  Conn
	tx    *Ongoing
}

// on returns a prover of the same transaction that sends its statements on c.
func (p *Prover) on(c Conn) *Prover {
	if p == nil {
		return nil
	}
	return &Prover{p.words, c, p.tx}
}

// AddTo returns the text of a statement that changes a row, extended so that it changes
// nothing if no transaction is open.
func (p *Prover) AddTo(text string) string {
	switch {
	case p == nil:
		return text
	case p.words.Condition == "":
		return p.words.Prefix + text
	}
	const returning = "\nRETURNING "
	text, answer, found := strings.Cut(text, returning)
	text += " AND " + p.words.Condition
	if found {
		text += returning + answer
	}
	return text
}

// Prepare must be called before a statement that proves the transaction: it sets the
// mark that the statement checks, or proves the transaction itself if the engine has no
// statement that could.
func (p *Prover) Prepare(ctx context.Context) error {
	switch {
	case p == nil:
		return nil
	case p.words.Begin != "":
		return p.beginInVain(ctx)
	case p.words.Mark != "" && !p.tx.marked:
		if _, err := p.conn.Query(ctx, p.words.Mark, nil); err != nil {
			return err
		}
		p.tx.marked = true
	}
	return nil
}

// Forget makes Prepare set the mark again.
func (p *Prover) Forget() {
	if p != nil {
		p.tx.marked = false
	}
}

// beginInVain proves that a transaction is open: the engine refuses a BEGIN inside a
// transaction. If the BEGIN succeeds, beginInVain ends that transaction, even if the
// caller's context has ended.
func (p *Prover) beginInVain(ctx context.Context) error {
	if c, ok := p.conn.(openTx); ok {
		if c, ok := c.conn.(interface{ AutoCommit() bool }); ok { // mattn/go-sqlite3
			if c.AutoCommit() {
				return ErrEnded
			}
			return nil
		}
	}
	ctx = context.WithoutCancel(ctx)
	_, err := p.conn.Exec(ctx, p.words.Begin, nil)
	switch {
	case err == nil:
		_, err = p.conn.Exec(ctx, p.words.End, nil)
		return errors.Join(ErrEnded, err)
	case strings.Contains(err.Error(), p.words.Begun):
		return nil
	}
	return err
}

// MarksAgain reports whether a statement that has found no transaction open has to be sent
// once more, with the mark set again: a rollback to a savepoint may have undone the mark.
// try counts from 1, and there is no third try.
func (p *Prover) MarksAgain(try int) bool {
	p.Forget()
	return try == 1 && p.words.Mark != ""
}

// Prove returns nil if the transaction is open: see [Store.Prove].
func (p *Prover) Prove(ctx context.Context) error {
	if p == nil {
		return nil
	}
	for try := 1; ; try++ {
		if err := p.Prepare(ctx); err != nil || p.words.Ask == "" {
			return err
		}
		row, err := p.conn.Query(ctx, p.words.Ask, nil)
		if err != nil {
			return err
		}
		if row != nil {
			if open, err := Integer(row[0]); open == 1 || err != nil {
				return err
			}
		}
		if !p.MarksAgain(try) {
			return ErrEnded
		}
	}
}
