package sequence

import (
	"context"
	"fmt"
	"math"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// keyTableCatalog asks the engine's catalog about the key table (an existing table of the
// application's that holds the numbers) of a sequence: the greatest values of its columns,
// and how a row of it is changed.
type keyTableCatalog struct {
	store *store.Store
	q     *Sequence
}

// learn returns the statements for the key table (an existing table of the application's
// that holds the numbers) of the sequence.
func (k keyTableCatalog) learn(ctx context.Context) (*engine.RowStatements, error) {
	q, r := k.q, k.store
	t, w := q.Table, &r.Engine.Words
	columns := &engine.KeyTableColumns{Table: t.Name, Key: t.Key, Value: t.Value, Version: t.Version}
	limit := int64(math.MaxInt64)
	if w.ColumnType.Text != "" {
		value, err := k.typeOf(ctx, t.Value)
		if err != nil {
			return nil, err
		}
		if limit = w.Greatest(value); limit == 0 {
			return nil, q.Fail(store.ErrKeyType, "the value column %s is %s: make it an integer", t.Value, value.Text)
		}
	}
	if t.Version != "" {
		if err := k.learnVersion(ctx, columns); err != nil {
			return nil, err
		}
	}
	f := r.Engine.Compose(columns)
	f.Limit, f.Offset = limit, t.offset()
	f.Max = min(limit, math.MaxInt64-1-f.Offset) + f.Offset - 1
	if q.Codec != nil {
		f.Max = store.MaxReserved
	}
	if st := w.Transactions; st.Text != "" {
		row, err := r.Conn.Query(ctx, st.Text, st.Bind(k.values()))
		if err != nil {
			return nil, r.Failed(q.Name, err)
		}
		f.Lockless = row == nil || store.Text(row[0]) != "YES"
	}
	return f, nil
}

// values returns the arguments by which a catalog query finds the key table of the
// application.
func (k keyTableCatalog) values() engine.Values {
	names := engine.SplitName(k.store.Dialect, k.q.Table.Name)
	v := engine.Values{Name: k.q.Table.Name, Table: names[len(names)-1]}
	if len(names) > 1 {
		v.Schema = names[len(names)-2]
	}
	return v
}

// learnVersion finds out how the version column is read, compared and changed.
func (k keyTableCatalog) learnVersion(ctx context.Context, columns *engine.KeyTableColumns) error {
	w, column := &k.store.Engine.Words, k.q.Table.Version
	counts := func(greatest int64) error {
		columns.Wording = engine.IntegerVersion
		columns.Wording.Read, columns.First = engine.Wrap(w.Digits, engine.IntegerVersion.Read), "0"
		columns.Moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(engine.IntegerVersion.Move, column, greatest))
		return nil
	}
	if w.ColumnType.Text == "" {
		return counts(math.MaxInt64)
	}
	t, err := k.typeOf(ctx, column)
	if err != nil {
		return err
	}
	if greatest := w.Greatest(t); greatest > 0 {
		return counts(greatest)
	}
	wording, known := w.Versions[t.Name]
	if !known {
		return k.q.Fail(store.ErrKeyType, "the version column %s is %s: make it an integer, which each UPDATE raises", column, t.Text)
	}
	columns.Wording = wording
	if wording.Move == "" {
		return nil
	}
	columns.First = k.store.Engine.Expressions.Now
	digits := 6
	if w.SecondsByDefault {
		digits = 0
	}
	if len(t.Args) > 0 && 0 <= t.Args[0] && t.Args[0] <= 6 {
		digits = t.Args[0]
	}
	step := int64(1)
	for range 6 - digits {
		step *= 10
	}
	columns.Moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(wording.Move, column, step, digits, t.Text))
	return nil
}

// typeOf returns the type of a column of the key table of the application.
func (k keyTableCatalog) typeOf(ctx context.Context, column string) (engine.ColumnType, error) {
	v := k.values()
	v.Column = engine.SplitName(k.store.Dialect, column)[0]
	st := k.store.Engine.Words.ColumnType
	row, err := k.store.Conn.Query(ctx, st.Text, st.Bind(v))
	if err != nil {
		return engine.ColumnType{}, k.store.Failed(k.q.Name, err)
	}
	if row == nil || store.Text(row[0]) == "" {
		return engine.ColumnType{}, k.q.Fail(store.ErrKeyTable, "the catalog has no column %s of %s", column, k.q.Table.Name)
	}
	return engine.ParseType(store.Text(row[0])), nil
}
