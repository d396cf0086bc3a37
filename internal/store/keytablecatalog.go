package store

import (
	"context"
	"fmt"
	"math"
)

// keyTableCatalog asks the catalog of the engine for the key table of a sequence:
// how far its columns reach, and how a row of it is changed.
type keyTableCatalog struct {
	store *Store
	q     *Sequence
}

// learn returns the statements for the sequence.
func (k keyTableCatalog) learn(ctx context.Context) (*rowStatements, error) {
	q, r := k.q, k.store
	t, w := q.Table, &r.engine.words
	columns := &keyColumns{table: t.Name, key: t.Key, value: t.Value, version: t.Version}
	limit := int64(math.MaxInt64)
	if w.columnType.text != "" {
		value, err := k.typeOf(ctx, t.Value)
		if err != nil {
			return nil, err
		}
		if limit = w.greatest(value); limit == 0 {
			return nil, q.fail(ErrKeyType, "the value column %s is %s: make it an integer", t.Value, value.text)
		}
	}
	if t.Version != "" {
		if err := k.learnVersion(ctx, columns); err != nil {
			return nil, err
		}
	}
	f := r.engine.compose(columns)
	f.limit, f.offset = limit, t.offset()
	f.max = min(limit, math.MaxInt64-1-f.offset) + f.offset - 1
	if q.Codec != nil {
		f.max = maxReserved
	}
	if st := w.transactions; st.text != "" {
		row, err := r.conn.query(ctx, st.text, st.bind(k.values()))
		if err != nil {
			return nil, r.failed(q.Name, err)
		}
		f.lockless = row == nil || toText(row[0]) != "YES"
	}
	return f, nil
}

// values returns the arguments that the key table is found by in a catalog.
func (k keyTableCatalog) values() values {
	names := splitName(k.store.dialect, k.q.Table.Name)
	v := values{Name: k.q.Table.Name, Table: names[len(names)-1]}
	if len(names) > 1 {
		v.Schema = names[len(names)-2]
	}
	return v
}

// learnVersion says how the version column is read, compared and moved.
func (k keyTableCatalog) learnVersion(ctx context.Context, columns *keyColumns) error {
	w, column := &k.store.engine.words, k.q.Table.Version
	counts := func(greatest int64) error {
		columns.wording = integerVersion
		columns.wording.read, columns.first = wrap(w.digits, integerVersion.read), "0"
		columns.moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(integerVersion.move, column, greatest))
		return nil
	}
	if w.columnType.text == "" {
		return counts(math.MaxInt64)
	}
	t, err := k.typeOf(ctx, column)
	if err != nil {
		return err
	}
	if greatest := w.greatest(t); greatest > 0 {
		return counts(greatest)
	}
	wording, known := w.versions[t.name]
	if !known {
		return k.q.fail(ErrKeyType, "the version column %s is %s: make it an integer, which each UPDATE raises", column, t.text)
	}
	columns.wording = wording
	if wording.move == "" {
		return nil
	}
	columns.first = k.store.engine.now
	digits := 6
	if w.secondsByDefault {
		digits = 0
	}
	if len(t.args) > 0 && 0 <= t.args[0] && t.args[0] <= 6 {
		digits = t.args[0]
	}
	step := int64(1)
	for range 6 - digits {
		step *= 10
	}
	columns.moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(wording.move, column, step, digits, t.text))
	return nil
}

// typeOf returns the type of a column of the key table.
func (k keyTableCatalog) typeOf(ctx context.Context, column string) (columnType, error) {
	v := k.values()
	v.Column = splitName(k.store.dialect, column)[0]
	st := k.store.engine.words.columnType
	row, err := k.store.conn.query(ctx, st.text, st.bind(v))
	if err != nil {
		return columnType{}, k.store.failed(k.q.Name, err)
	}
	if row == nil || toText(row[0]) == "" {
		return columnType{}, k.q.fail(ErrKeyTable, "the catalog has no column %s of %s", column, k.q.Table.Name)
	}
	return parseType(toText(row[0])), nil
}
