package store

import (
	"context"
	"fmt"
)

// KeyColumn is a key column of the application's, as it is seen where its [Store]
// is: which keys the column holds, and who may write them. Nothing is written into
// it.
type KeyColumn struct {
	run    *runner
	column Column

	hidden  bool // the engine has not shown every row to the last question
	current bool // it was answered by what is committed now; false where that is not known
}

// used reports whether there is a key in the column.
func (k *KeyColumn) used(ctx context.Context) (bool, error) {
	row, err := k.ask(ctx, fmt.Sprintf("SELECT CASE WHEN EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL) THEN 1 ELSE 0 END%s%s",
		k.table(), k.name(), k.run.hides(k.table()), k.run.engine.dual), nil)
	if err != nil || row == nil {
		return false, err
	}
	n, err := toInteger(row[0])
	if err == nil {
		k.hidden, err = k.run.areHidden(row)
	}
	if err != nil {
		return false, k.run.failed(k.column.String(), err)
	}
	if n == 0 {
		return false, k.AllShown()
	}
	return true, nil
}

// integer returns the only integer in the answer to a query, 0 where there is none.
func (k *KeyColumn) integer(ctx context.Context, query string, args []any) (int64, error) {
	row, err := k.ask(ctx, query, args)
	if err == nil {
		k.hidden, err = k.run.areHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	key, err := toInteger(row[0])
	if err != nil {
		return 0, k.run.failed(k.column.String(), &refusal{ErrColumn, err})
	}
	return key, nil
}

// ask sends a query about the column.
func (k *KeyColumn) ask(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := k.run.conn.query(ctx, query, args)
	if err != nil {
		return nil, k.run.failed(k.column.String(), k.run.judge(ctx, ErrColumn, err, query, args))
	}
	return row, nil
}

// name returns the column's name for a statement.
func (k *KeyColumn) name() string { return k.run.dialect.QuoteIdent(k.column.Name) }

// table returns the name of the column's table for a statement.
func (k *KeyColumn) table() string { return k.column.tableIn(k.run.dialect) }
