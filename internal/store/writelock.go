package store

import (
	"context"
	"fmt"
)

// Lock takes the lock to write of the database that a column's table is in, by a
// statement that changes nothing, for a transaction that is going to read and
// then to write: one of SQLite that has read before does not wait for another
// connection that writes, and fails when one has written since. Elsewhere it
// does nothing. Errors come from the driver, also the error that the table is a
// view.
func (s *Store) Lock(ctx context.Context, c Column) error {
	if s.engine.lock == "" {
		return nil
	}
	query := fmt.Sprintf(s.engine.lock, s.quoted(c), s.dialect.QuoteIdent(c.Name))
	_, err := s.conn.exec(ctx, query, nil)
	return err
}

// LockFirst is [Store.Lock] in front of statements that fail themselves when
// something is wrong with the table, and then say what; it leaves such errors to
// them. Only a lock that was interrupted is an error here, since SQLite may have
// ended the transaction then, and what follows would be committed by itself.
func (s *Store) LockFirst(ctx context.Context, c Column) error {
	return s.interrupted(ctx, s.Lock(ctx, c))
}

// interrupted returns the error of a lock that may have ended the transaction, nil for
// one that has not.
func (s *Store) interrupted(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	}
	return s.Prove(ctx)
}

// lockRows is Lock for the table of sequences.
func (s *Store) lockRows(ctx context.Context) error {
	return s.Lock(ctx, Column{Table: "keyfill_sequences", Name: "next_value"})
}

// lockRowsFirst is LockFirst for the table of sequences.
func (s *Store) lockRowsFirst(ctx context.Context) error {
	return s.interrupted(ctx, s.lockRows(ctx))
}

// lockKeysFirst is LockFirst for the key table of a sequence.
func (s *Store) lockKeysFirst(ctx context.Context, q *Sequence) error {
	return s.interrupted(ctx, s.lockKeys(ctx, q))
}

// lockKeys is Lock for the key table of a sequence, whose names are as they are
// written in SQL.
func (s *Store) lockKeys(ctx context.Context, q *Sequence) error {
	if s.engine.lock == "" || q.Table == nil {
		return nil
	}
	_, err := s.conn.exec(ctx, fmt.Sprintf(s.engine.lock, q.Table.Name, q.Table.Value), nil)
	return err
}

// quoted returns the name of a column's table for a statement.
func (s *Store) quoted(c Column) string {
	if c.Schema == "" {
		return s.dialect.QuoteIdent(c.Table)
	}
	return s.dialect.QuoteIdent(c.Schema) + "." + s.dialect.QuoteIdent(c.Table)
}
