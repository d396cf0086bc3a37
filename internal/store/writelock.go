package store

import (
	"context"
	"fmt"
)

// writeLock is the lock to write of the database that a table is in. A statement
// takes it that changes nothing. Only SQLite has one.
type writeLock struct {
	store  *Store
	update string // the statement; "" for none
}

// lockOf returns the lock of a table, by a column of it. Both are as they are
// written in SQL.
func lockOf(r *Store, table, column string) writeLock {
	if r.engine.lock == "" {
		return writeLock{r, ""}
	}
	return writeLock{r, fmt.Sprintf(r.engine.lock, table, column)}
}

// lockOfRows returns the lock of the table of sequences.
func lockOfRows(r *Store) writeLock {
	return lockOf(r, r.dialect.QuoteIdent(sequencesTable), r.dialect.QuoteIdent("next_value"))
}

// take takes the lock.
func (l writeLock) take(ctx context.Context) error {
	if l.update == "" {
		return nil
	}
	_, err := l.store.conn.exec(ctx, l.update, nil)
	return err
}

// first is [KeyColumn.LockFirst].
func (l writeLock) first(ctx context.Context) error {
	err := l.take(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	}
	return l.store.proof.prove(ctx)
}
