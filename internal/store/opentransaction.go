package store

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
// connection: the engine has ended it, at a deadlock or a conflict, or a statement has
// committed it. Nothing was reserved.
var ErrEnded = anchor.New("transaction-ended", "the transaction has ended")

// Ongoing is a transaction of the application's connection that is taken to be open.
// One value serves a transaction from its beginning to its end.
type Ongoing struct {
	// Ours reports whether the transaction was begun for one statement, and only
	// keyfill's statements have run in it.
	Ours bool

	marked bool // proof.mark has run; it may have been undone since
}

// Joined returns the tables as [Within] does, for a transaction that may have
// ended without keyfill. It reserves by statements that change nothing where no
// transaction is open; they answer with [ErrEnded]:
//
//	MariaDB       the UPDATE asks @@in_transaction
//	PostgreSQL    the UPDATE asks for a setting that is the transaction's alone
//	SQLite        BEGIN has to fail before the UPDATE
//	SQL Server    the UPDATE stands after IF @@TRANCOUNT > 0
//	MySQL         no condition shows it; see [dialect.Transactions].Probe
//	Oracle        a change opens a transaction, if the driver does not commit it
//
// The caller has to prove that the transaction did not end between the reservation
// and the row that gets the key.
func Joined(d *dialect.Dialect, c driver.Conn, tx *Ongoing) *Store {
	r := withinConn(d, c)
	if words := &r.Engine.Proof; !tx.Ours || !words.TellsEnd {
		r.Proof = &Prover{words, r.Conn, tx}
	}
	return r
}

// Prover proves by statements that a transaction of the application is open. The
// nil prover proves nothing: none of its methods sends a statement.
type Prover struct {
	words *engine.Proof
	conn  Conn
	tx    *Ongoing
}

// on returns the prover on another way to its connection.
func (p *Prover) on(c Conn) *Prover {
	if p == nil {
		return nil
	}
	return &Prover{p.words, c, p.tx}
}

// AddTo returns the text of a statement that changes a row, with the proof.
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

// Prepare runs before a statement that proves the transaction: it sets the mark, or proves
// the transaction itself where no statement can.
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

// Forget has prepare set the mark again.
func (p *Prover) Forget() {
	if p != nil {
		p.tx.marked = false
	}
}

// beginInVain has the engine refuse to begin a transaction inside another one. It has to
// end a transaction that it has begun, even if its caller's context has ended.
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

// Provenly calls do, which reports whether its statement has found the proof, and
// once more where the mark may have been undone, as by a rollback to a savepoint.
func (p *Prover) Provenly(ctx context.Context, do func() (proved bool, err error)) error {
	for range 2 {
		if err := p.Prepare(ctx); err != nil {
			return err
		}
		proved, err := do()
		if proved || err != nil || p == nil {
			return err
		}
		p.Forget()
		if p.words.Mark == "" {
			break
		}
	}
	return ErrEnded
}

// Prove is [Store.Prove].
func (p *Prover) Prove(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.Provenly(ctx, func() (bool, error) {
		if p.words.Ask == "" {
			return true, nil
		}
		row, err := p.conn.Query(ctx, p.words.Ask, nil)
		if err != nil || row == nil {
			return false, err
		}
		open, err := Integer(row[0])
		return open == 1, err
	})
}
