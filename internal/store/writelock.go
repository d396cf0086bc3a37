package store

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/store/engine"
)

// writeLock is the lock to write of the database that a table is in. A statement
// takes it that changes nothing. Only SQLite has one.
type writeLock struct {
	store  *Store
	update string // the statement; may be empty
}

// LockOf returns the lock of a table, by a column of it. Both are as they are
// written in SQL.
func LockOf(s *Store, table, column string) writeLock {
	if s.Engine.Locks.Lock == "" {
		return writeLock{s, ""}
	}
	return writeLock{s, fmt.Sprintf(s.Engine.Locks.Lock, table, column)}
}

// LockOfRows returns the lock of the table of sequences.
func LockOfRows(s *Store) writeLock {
	return LockOf(s, s.Dialect.QuoteIdent(engine.SequencesTable), s.Dialect.QuoteIdent("next_value"))
}

// Take takes the lock.
func (l writeLock) Take(ctx context.Context) error {
	if l.update == "" {
		return nil
	}
	_, err := l.store.Conn.Exec(ctx, l.update, nil)
	return err
}

// TakeFirst is [keycolumn.KeyColumn.LockFirst].
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
