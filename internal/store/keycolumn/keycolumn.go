// Package keycolumn queries a key column of the application: its greatest key, whether
// it has any, and the number that the engine's own counter of the column has reached.
// It takes the locks that these queries need in a transaction, and writes nothing into
// the column.
package keycolumn

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// KeyColumn is a key column of the application, in the database of a [store.Store]. Its
// methods query the keys in the column, and take locks of the table. They write nothing
// into the column.
type KeyColumn struct {
	Store  *store.Store
	Column store.Column

	Hidden  bool // the engine may have hidden rows from the last query
	Current bool // the last query saw all rows that are committed now; false if that is not known
}

// Of returns the key column c in the database of s.
func Of(s *store.Store, c store.Column) *KeyColumn { return &KeyColumn{Store: s, Column: c} }

// Used reports whether the column holds a key, or a text of its Texts.
func (k *KeyColumn) Used(ctx context.Context) (bool, error) {
	return usedWhere(ctx, k, &conditions{of: k})
}

// usedWhere does what Used does, for the rows that conditions leave.
func usedWhere(ctx context.Context, k *KeyColumn, where *conditions) (bool, error) {
	where.add(k.Name() + " IS NOT NULL")
	if x := k.Column.Texts; x != nil {
		where.begins(x.Prefix)
		where.ends(x.Suffix)
	}
	row, err := k.ask(ctx, fmt.Sprintf("SELECT CASE WHEN EXISTS (SELECT 1 FROM %s%s) THEN 1 ELSE 0 END%s%s",
		k.Table(), where.text(), k.Store.HidesRows(k.Table()), k.Store.Engine.Expressions.Dual), where.args)
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

// IsMissing reports whether the column's table does not exist, and then returns an
// error that says so.
func (k *KeyColumn) IsMissing(ctx context.Context) (bool, error) {
	_, err := k.Store.Conn.Query(ctx, "SELECT "+k.Name()+" FROM "+k.Table()+" WHERE 1 = 0", nil)
	if err == nil || sqlcode.ClassOf(k.Store.Dialect, err) != dialect.ErrorNoObject {
		return false, nil
	}
	return true, k.Store.Failed(k.Column.String(), k.Store.Refuse(store.ErrColumn, err))
}

// integer returns the only integer in the result of a query, 0 if the result has none.
func (k *KeyColumn) integer(ctx context.Context, query string, args []any) (int64, error) {
	row, err := k.ask(ctx, query, args)
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	key, err := numberOf(k, row[0])
	if err != nil {
		return 0, k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrColumn, Err: err})
	}
	return key, nil
}

// ask sends a query about the column and returns its only row.
func (k *KeyColumn) ask(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := k.Store.Conn.Query(ctx, query, args)
	if err != nil {
		return nil, k.Store.Failed(k.Column.String(), k.Store.Judge(ctx, store.ErrColumn, err, query, args))
	}
	return row, nil
}

// Name returns the quoted name of the column, for a statement.
func (k *KeyColumn) Name() string { return k.Store.Dialect.QuoteIdent(k.Column.Name) }

// Table returns the quoted name of the column's table, for a statement.
func (k *KeyColumn) Table() string { return k.Column.TableIn(k.Store.Dialect) }

// AllShown returns [store.ErrHiddenRows] if the engine may have hidden rows from the
// last query.
func (k *KeyColumn) AllShown() error {
	if !k.Hidden {
		return nil
	}
	return k.Store.Failed(k.Column.String(), &store.Refused{Meaning: store.ErrHiddenRows, Err: errors.New(k.Table())})
}

// Lock takes the lock to write of the database that has the column's table, for a
// transaction that reads before it writes: in SQLite such a transaction does not wait
// for another connection that writes, and fails if another one has written since it
// read. On other engines Lock does nothing. Errors are the driver's, also the error
// that the table is a view.
func (k *KeyColumn) Lock(ctx context.Context) error {
	return store.LockOf(k.Store, k.Table(), k.Name()).Take(ctx)
}

// LockFirst takes the lock as Lock does, before statements that fail with a clearer error
// if something is wrong with the table: LockFirst ignores errors of the table. It returns
// an error only if the lock was interrupted, since SQLite may then have ended the
// transaction, and each later statement would be committed at once.
func (k *KeyColumn) LockFirst(ctx context.Context) error {
	return store.LockOf(k.Store, k.Table(), k.Name()).TakeFirst(ctx)
}
