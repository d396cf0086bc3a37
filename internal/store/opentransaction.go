package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// ErrEnded is returned by a store of [Joined] when no transaction is open on its
// connection: the engine has ended it, at a deadlock or a conflict, or somebody has
// committed it. Nothing was reserved.
var ErrEnded = errors.New("the transaction has ended")

// Ongoing is a transaction of the application's connection that is taken to be open.
// One value serves a transaction from its beginning to its end.
type Ongoing struct {
	// Ours says that the transaction was begun for one statement, and that nothing
	// but keyfill's statements has run in it.
	Ours bool

	marked bool // proof.mark has run; it may have been undone since
}

// Joined returns the tables as [Within] does, for a transaction that somebody else
// may have ended. It reserves by statements that change nothing where no
// transaction is open; they answer with [ErrEnded]:
//
//	MariaDB       the UPDATE asks @@in_transaction
//	PostgreSQL    the UPDATE asks for a setting that is the transaction's alone
//	SQLite        BEGIN has to fail in front of the UPDATE
//	SQL Server    the UPDATE stands behind IF @@TRANCOUNT > 0
//	MySQL         nothing tells; see [dialect.Transactions].Probe
//	Oracle        a change opens a transaction, if the driver does not commit it
//
// The caller has to prove that the transaction did not end between the reservation
// and the row that gets the key.
func Joined(d *dialect.Dialect, c driver.Conn, tx *Ongoing) *Store {
	s := Within(d, c)
	if !tx.Ours || !s.engine.proof.loyal {
		s.ongoing = tx
	}
	return s
}

// proof is how the statements of an engine prove that a transaction is open. All
// texts may be empty.
type proof struct {
	condition string // is true where one is open, in the WHERE of an UPDATE
	mark      string // makes the condition true until the transaction ends
	front     string // stands in front of a statement, which it lets run where one is open
	begin     string // fails where one is open, with begun in the error
	begun     string
	end       string // undoes begin

	// ask answers with 1 where one is open.
	ask string

	// create makes the row of a parent, as engine.create does, where one is open.
	create statement

	// loyal says that the engine ends no transaction but by an error that the
	// statement in hand gets, or by a statement that ends it.
	loyal bool
}

// proven returns the text of a statement that changes a row, with the proof.
func (s *Store) proven(text string) string {
	if s.ongoing == nil {
		return text
	}
	p := &s.engine.proof
	if p.condition == "" {
		return p.front + text
	}
	const returning = "\nRETURNING "
	text, answer, found := strings.Cut(text, returning)
	text += " AND " + p.condition
	if found {
		text += returning + answer
	}
	return text
}

// prepareProof does what has to be done in front of a statement that proves, or
// proves it, where no statement can.
func (s *Store) prepareProof(ctx context.Context) error {
	if s.ongoing == nil {
		return nil
	}
	p := &s.engine.proof
	switch {
	case p.begin != "":
		return s.beginInVain(ctx)
	case p.mark != "" && !s.ongoing.marked:
		if _, err := s.conn.query(ctx, p.mark, nil); err != nil {
			return err
		}
		s.ongoing.marked = true
	}
	return nil
}

// beginInVain has the engine refuse to begin a transaction inside another one. Its
// caller may have gone: what it has begun, it has to end.
func (s *Store) beginInVain(ctx context.Context) error {
	if c, ok := s.conn.(openTx); ok {
		if c, ok := c.conn.(interface{ AutoCommit() bool }); ok { // mattn/go-sqlite3
			if c.AutoCommit() {
				return ErrEnded
			}
			return nil
		}
	}
	ctx = context.WithoutCancel(ctx)
	p := &s.engine.proof
	_, err := s.conn.exec(ctx, p.begin, nil)
	switch {
	case err == nil:
		_, err = s.conn.exec(ctx, p.end, nil)
		return errors.Join(ErrEnded, err)
	case strings.Contains(err.Error(), p.begun):
		return nil
	}
	return err
}

// provenly calls do, which reports whether its statement has found the proof, and
// once more where the mark may have been undone, as by a rollback to a savepoint.
func (s *Store) provenly(ctx context.Context, do func() (proved bool, err error)) error {
	for range 2 {
		if err := s.prepareProof(ctx); err != nil {
			return err
		}
		proved, err := do()
		if proved || err != nil || s.ongoing == nil {
			return err
		}
		s.ongoing.marked = false
		if s.engine.proof.mark == "" {
			break
		}
	}
	return ErrEnded
}

// Prove returns nil where a transaction is open, for a store of [Joined], and
// [ErrEnded] where none is. It is nil where the engine has no way to tell.
func (s *Store) Prove(ctx context.Context) error {
	if s.ongoing == nil {
		return nil
	}
	return s.provenly(ctx, func() (bool, error) {
		ask := s.engine.proof.ask
		if ask == "" {
			return true, nil
		}
		row, err := s.conn.query(ctx, ask, nil)
		if err != nil || row == nil {
			return false, err
		}
		open, err := toInteger(row[0])
		return open == 1, err
	})
}
