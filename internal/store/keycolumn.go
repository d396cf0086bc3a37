package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// KeyColumn is a key column of the application's, as it is seen where its [Store]
// is: which keys the column holds, and who may write them. Nothing is written into
// it.
type KeyColumn struct {
	store  *Store
	column Column

	hidden  bool // the engine has not shown every row to the last question
	current bool // it was answered by what is committed now; false where that is not known
}

// ColumnOf returns a key column of the application's, as a store sees it.
func ColumnOf(s *Store, c Column) *KeyColumn { return &KeyColumn{store: s, column: c} }

// used reports whether there is a key in the column.
func (k *KeyColumn) used(ctx context.Context) (bool, error) {
	row, err := k.ask(ctx, fmt.Sprintf("SELECT CASE WHEN EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL) THEN 1 ELSE 0 END%s%s",
		k.table(), k.name(), k.store.hides(k.table()), k.store.engine.dual), nil)
	if err != nil || row == nil {
		return false, err
	}
	n, err := toInteger(row[0])
	if err == nil {
		k.hidden, err = k.store.areHidden(row)
	}
	if err != nil {
		return false, k.store.failed(k.column.String(), err)
	}
	if n == 0 {
		return false, k.AllShown()
	}
	return true, nil
}

// isMissing reports whether the table of the column is missing, and returns the error that
// says so.
func (k *KeyColumn) isMissing(ctx context.Context) (bool, error) {
	_, err := k.store.conn.query(ctx, "SELECT "+k.name()+" FROM "+k.table()+" WHERE 1 = 0", nil)
	if err == nil || sqlcode.ClassOf(k.store.dialect, err) != dialect.ErrorNoObject {
		return false, nil
	}
	return true, k.store.failed(k.column.String(), k.store.refuse(ErrColumn, err))
}

// integer returns the only integer in the answer to a query, 0 where there is none.
func (k *KeyColumn) integer(ctx context.Context, query string, args []any) (int64, error) {
	row, err := k.ask(ctx, query, args)
	if err == nil {
		k.hidden, err = k.store.areHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	key, err := toInteger(row[0])
	if err != nil {
		return 0, k.store.failed(k.column.String(), &refusal{ErrColumn, err})
	}
	return key, nil
}

// ask sends a query about the column.
func (k *KeyColumn) ask(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := k.store.conn.query(ctx, query, args)
	if err != nil {
		return nil, k.store.failed(k.column.String(), k.store.judge(ctx, ErrColumn, err, query, args))
	}
	return row, nil
}

// name returns the column's name for a statement.
func (k *KeyColumn) name() string { return k.store.dialect.QuoteIdent(k.column.Name) }

// table returns the name of the column's table for a statement.
func (k *KeyColumn) table() string { return k.column.tableIn(k.store.dialect) }

// AllShown returns [ErrHiddenRows] where the engine need not have shown the user every row
// to the last question.
func (k *KeyColumn) AllShown() error {
	if !k.hidden {
		return nil
	}
	return k.store.failed(k.column.String(), &refusal{ErrHiddenRows, errors.New(k.table())})
}

// Lock takes the lock to write of the database that the column's table is in, for a
// transaction that is going to read and then to write: one of SQLite that has read
// before does not wait for another connection that writes, and fails when one has
// written since. Elsewhere it does nothing. Errors come from the driver, also the
// error that the table is a view.
func (k *KeyColumn) Lock(ctx context.Context) error {
	return lockOf(k.store, k.table(), k.name()).take(ctx)
}

// LockFirst is Lock in front of statements that fail themselves when something is
// wrong with the table, and then say what; it leaves such errors to them. Only a
// lock that was interrupted is an error here, since SQLite may have ended the
// transaction then, and what follows would be committed by itself.
func (k *KeyColumn) LockFirst(ctx context.Context) error {
	return lockOf(k.store, k.table(), k.name()).first(ctx)
}
