package keys

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// Examples gives keys for an explanation of a statement. Integers count from 1, since
// real ones would have to be drawn. It has no connection and reads no store.
type Examples struct {
	Dialect *dialect.Dialect // of the statement
}

// Give returns n example keys for key column i of a table.
func (Examples) Give(ctx context.Context, room []driver.Value, t *table.Table, i, n int) ([]driver.Value, error) {
	k := &t.KeyColumns[i]
	if k.Source != nil {
		return k.Source.Append(ctx, room, keysource.Request{N: n, Layout: k.Layout})
	}
	if k.Shape != nil {
		return k.Example(n)
	}
	return boxing.AppendIntegers(room, 1, n, k.Layout), nil
}

// Reserve returns 1: the rows of an INSERT … SELECT are numbered from 1.
func (Examples) Reserve(context.Context, *table.Table, int, int64) (int64, error) { return 1, nil }

// GiveWithin returns the numbers from 1, for rows that are numbered within their
// parents. Keys that are made from columns of the rows are those that are stored, if the
// text has all of these values; what the columns may refuse or change is not known.
func (e Examples) GiveWithin(_ context.Context, t *table.Table, i, n int, parents Parents) ([]driver.Value, error) {
	k := &t.KeyColumns[i]
	if source, ok := k.Source.(*keysource.UUIDv5); ok {
		if rows, err := parents(); err == nil && len(rows) == n {
			columns, err := ColumnsOfKey(e.Dialect, t, i, nil)
			if err != nil {
				return nil, err
			}
			return fromRows(source, k.Layout, columns, rows)
		}
		made := make([]driver.Value, n)
		for row := range made {
			var err error
			if made[row], err = source.Value(k.Layout, int64(row)); err != nil { // the values may not be known yet
				return nil, err
			}
		}
		return made, nil
	}
	if k.Shape != nil {
		return k.Example(n)
	}
	return boxing.Integers(1, n, t.KeyColumns[i].Layout), nil
}

// Spares returns false: an explanation shows only the keys of the rows.
func (Examples) Spares() bool { return false }
