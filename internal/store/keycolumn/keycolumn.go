// Package keycolumn asks about a key column of the application: its greatest key, whether
// it has any, and where the engine's own counter of the column stands. It takes the locks
// that these questions need in a transaction, and writes nothing into the column.
package keycolumn

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// KeyColumn is a key column of the application's, as it is seen where its [store.Store]
// is. It answers which keys the column holds, and takes locks of its table. Nothing is
// written into the column.
type KeyColumn struct {
	Store  *store.Store
	Column store.Column

	Hidden  bool // the engine has not shown every row to the last question
	Current bool // the answer includes all rows that are committed now; false if that is not known
}

// Of returns a key column of the application's, as a store sees it.
func Of(s *store.Store, c store.Column) *KeyColumn { return &KeyColumn{Store: s, Column: c} }

// Used reports whether there is a key in the column.
func (k *KeyColumn) Used(ctx context.Context) (bool, error) {
	row, err := k.ask(ctx, fmt.Sprintf("SELECT CASE WHEN EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL) THEN 1 ELSE 0 END%s%s",
		k.Table(), k.Name(), k.Store.HidesRows(k.Table()), k.Store.Engine.Expressions.Dual), nil)
	if err != nil || row == nil {
		return false, err
	}
	n, err := store.Integer(row[0])
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err != nil {
		return false, k.Store.Failed(k.Column.String(), err)
	}
	if n == 0 {
		return false, k.AllShown()
	}
	return true, nil
}

// IsMissing reports whether the table of the column is missing, and returns the error that
// says so.
func (k *KeyColumn) IsMissing(ctx context.Context) (bool, error) {
	_, err := k.Store.Conn.Query(ctx, "SELECT "+k.Name()+" FROM "+k.Table()+" WHERE 1 = 0", nil)
	if err == nil || sqlcode.ClassOf(k.Store.Dialect, err) != dialect.ErrorNoObject {
		return false, nil
	}
	return true, k.Store.Failed(k.Column.String(), k.Store.Refuse(store.ErrColumn, err))
}

// integer returns the only integer in the answer to a query, 0 where there is none.
func (k *KeyColumn) integer(ctx context.Context, query string, args []any) (int64, error) {
	row, err := k.ask(ctx, query, args)
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	key, err := store.Integer(row[0])
	if err != nil {
		return 0, k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrColumn, Err: err})
	}
	return key, nil
}

// ask sends a query about the column.
func (k *KeyColumn) ask(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := k.Store.Conn.Query(ctx, query, args)
	if err != nil {
		return nil, k.Store.Failed(k.Column.String(), k.Store.Judge(ctx, store.ErrColumn, err, query, args))
	}
	return row, nil
}

// Name returns the column's name for a statement.
func (k *KeyColumn) Name() string { return k.Store.Dialect.QuoteIdent(k.Column.Name) }

// Table returns the name of the column's table for a statement.
func (k *KeyColumn) Table() string { return k.Column.TableIn(k.Store.Dialect) }

// AllShown returns [store.ErrHiddenRows] where the engine need not have shown the user
// every row to the last question.
func (k *KeyColumn) AllShown() error {
	if !k.Hidden {
		return nil
	}
	return k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrHiddenRows, Err: errors.New(k.Table())})
}

// Lock takes the lock to write of the database that the column's table is in, for a
// transaction that is going to read and then to write: one of SQLite that has read
// before does not wait for another connection that writes, and fails when one has
// written since. Elsewhere it does nothing. Errors come from the driver, also the
// error that the table is a view.
func (k *KeyColumn) Lock(ctx context.Context) error {
	return store.LockOf(k.Store, k.Table(), k.Name()).Take(ctx)
}

// LockFirst is Lock before statements that fail themselves when something is wrong with
// the table, with an error that explains it; it leaves such errors to them. Only a lock
// that was interrupted is an error here, since SQLite may have ended the transaction
// then, and each later statement would be committed at once.
func (k *KeyColumn) LockFirst(ctx context.Context) error {
	return store.LockOf(k.Store, k.Table(), k.Name()).TakeFirst(ctx)
}
