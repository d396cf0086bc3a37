package store

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/store/engine"
)

// writeLock is SQLite's lock to write of the database that a table is in. A statement
// that changes nothing takes it. Other engines have no such lock.
type writeLock struct {
	store  *Store
	update string // the statement that takes the lock; may be empty
}

// LockOf returns the lock of a table; column is any column of it. Both names are as
// they are written in SQL.
func LockOf(s *Store, table, column string) writeLock {
	if s.Engine.Locks.Lock == "" {
		return writeLock{s, ""}
	}
	return writeLock{s, fmt.Sprintf(s.Engine.Locks.Lock, table, column)}
}

// LockOfRows returns the lock of the table keyfill_sequences.
func LockOfRows(s *Store) writeLock {
	return LockOf(s, s.Dialect.QuoteIdent(engine.SequencesTable), s.Dialect.QuoteIdent("next_value"))
}

// Take takes the lock. It does nothing on an engine other than SQLite.
func (l writeLock) Take(ctx context.Context) error {
	if l.update == "" {
		return nil
	}
	_, err := l.store.Conn.Exec(ctx, l.update, nil)
	return err
}

// TakeFirst takes the lock, and ignores errors that a later statement explains better:
// see [keycolumn.KeyColumn.LockFirst].
func (l writeLock) TakeFirst(ctx context.Context) error {
	err := l.Take(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	}
	return l.store.Proof.Prove(ctx)
}
