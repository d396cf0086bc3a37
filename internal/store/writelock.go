package store

import (
	"context"
	"fmt"
)

// writeLock is the lock to write of the database that a table is in. A statement
// takes it that changes nothing. Only SQLite has one.
type writeLock struct {
	run    *runner
	update string // the statement; "" for none
}

// Lock takes the lock to write of the database that the column's table is in, for a
// transaction that is going to read and then to write: one of SQLite that has read
// before does not wait for another connection that writes, and fails when one has
// written since. Elsewhere it does nothing. Errors come from the driver, also the
// error that the table is a view.
func (k *KeyColumn) Lock(ctx context.Context) error { return k.lock().take(ctx) }

// LockFirst is Lock in front of statements that fail themselves when something is
// wrong with the table, and then say what; it leaves such errors to them. Only a
// lock that was interrupted is an error here, since SQLite may have ended the
// transaction then, and what follows would be committed by itself.
func (k *KeyColumn) LockFirst(ctx context.Context) error { return k.lock().first(ctx) }

func (k *KeyColumn) lock() writeLock { return lockOf(k.run, k.table(), k.name()) }

// lockOf returns the lock of a table, by a column of it. Both are as they are
// written in SQL.
func lockOf(r *runner, table, column string) writeLock {
	if r.engine.lock == "" {
		return writeLock{r, ""}
	}
	return writeLock{r, fmt.Sprintf(r.engine.lock, table, column)}
}

// lockOfRows returns the lock of the table of sequences.
func lockOfRows(r *runner) writeLock {
	return (&KeyColumn{run: r, column: Column{Table: tables[0], Name: "next_value"}}).lock()
}

// take takes the lock.
func (l writeLock) take(ctx context.Context) error {
	if l.update == "" {
		return nil
	}
	_, err := l.run.conn.exec(ctx, l.update, nil)
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
	return l.run.proof.prove(ctx)
}
