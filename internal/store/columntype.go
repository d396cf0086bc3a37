package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// columnType is a type as the catalog of an engine writes it: "decimal(10,0)",
// "int(11) unsigned", "timestamp(3) without time zone".
type columnType struct {
	name     string // in lower case, without the part in parentheses
	text     string // all of it
	args     []int  // -1 for one that is left out
	unsigned bool
}

func parseType(text string) columnType {
	t := columnType{text: text}
	before, rest, _ := strings.Cut(strings.ToLower(text), "(")
	inside, after, _ := strings.Cut(rest, ")")
	words := strings.Fields(before + " " + after)
	if strings.Trim(inside, ", ") != "" {
		for _, one := range strings.Split(inside, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(one))
			if err != nil {
				n = -1
			}
			t.args = append(t.args, n)
		}
	}
	var kept []string
	for _, word := range words {
		switch word {
		case "unsigned":
			t.unsigned = true
		case "zerofill":
		default:
			kept = append(kept, word)
		}
	}
	t.name = strings.Join(kept, " ")
	return t
}

// greatest returns the greatest integer of a type, 0 for one that holds others
// than integers. A decimal without a precision holds more than an int64 does.
func (w *wording) greatest(t columnType) int64 {
	switch t.name {
	case "decimal", "numeric", "number":
		if len(t.args) > 1 && t.args[1] != 0 {
			return 0
		}
		if len(t.args) == 0 || t.args[0] < 0 || t.args[0] > 18 {
			return math.MaxInt64
		}
		n := int64(1)
		for range t.args[0] {
			n *= 10
		}
		return n - 1
	}
	n := w.integers[t.name]
	if t.unsigned && n > 0 && n < math.MaxInt64 {
		n = 2*n + 1
	}
	return n
}

// learn returns the statements for a sequence in a key table, of whose columns it
// asks the catalog.
func (s *Store) learn(ctx context.Context, q *Sequence) (*rowStatements, error) {
	t, w := q.Table, &s.engine.words
	k := &keyColumns{table: t.Name, key: t.Key, value: t.Value, version: t.Version}
	limit := int64(math.MaxInt64)
	if w.columnType.text != "" {
		value, err := s.typeOf(ctx, q, t.Value)
		if err != nil {
			return nil, err
		}
		if limit = w.greatest(value); limit == 0 {
			return nil, q.fail(ErrKeyType, "the value column %s is %s: make it an integer", t.Value, value.text)
		}
	}
	if t.Version != "" {
		if err := s.learnVersion(ctx, q, k); err != nil {
			return nil, err
		}
	}
	f := s.engine.compose(k)
	f.limit, f.offset = limit, t.offset()
	f.max = min(limit, math.MaxInt64-1-f.offset) + f.offset - 1
	if q.Codec != nil {
		f.max = maxReserved
	}
	if st := w.transactions; st.text != "" {
		row, err := s.conn.query(ctx, st.text, st.bind(s.catalogValues(q)))
		if err != nil {
			return nil, s.failed(q.Name, err)
		}
		f.lockless = row == nil || toText(row[0]) != "YES"
	}
	return f, nil
}

// catalogValues returns the arguments that the key table is found by in a
// catalog.
func (s *Store) catalogValues(q *Sequence) values {
	names := splitName(s.dialect, q.Table.Name)
	v := values{pName: q.Table.Name, pTable: names[len(names)-1]}
	if len(names) > 1 {
		v[pSchema] = names[len(names)-2]
	}
	return v
}

// learnVersion says how the version column is read, compared and moved.
func (s *Store) learnVersion(ctx context.Context, q *Sequence, k *keyColumns) error {
	w, column := &s.engine.words, q.Table.Version
	counts := func(greatest int64) error {
		k.wording = integerVersion
		k.wording.read, k.first = wrap(w.digits, integerVersion.read), "0"
		k.moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(integerVersion.move, column, greatest))
		return nil
	}
	if w.columnType.text == "" {
		return counts(math.MaxInt64)
	}
	t, err := s.typeOf(ctx, q, column)
	if err != nil {
		return err
	}
	if greatest := w.greatest(t); greatest > 0 {
		return counts(greatest)
	}
	wording, known := w.versions[t.name]
	if !known {
		return q.fail(ErrKeyType, "the version column %s is %s: make it an integer, which each UPDATE raises", column, t.text)
	}
	k.wording = wording
	if wording.move == "" {
		return nil
	}
	k.first = s.engine.now
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
	k.moved = fmt.Sprintf(", %s = %s", column, fmt.Sprintf(wording.move, column, step, digits, t.text))
	return nil
}

// typeOf returns the type of a column of the key table.
func (s *Store) typeOf(ctx context.Context, q *Sequence, column string) (columnType, error) {
	v := s.catalogValues(q)
	v[pColumn] = splitName(s.dialect, column)[0]
	st := s.engine.words.columnType
	row, err := s.conn.query(ctx, st.text, st.bind(v))
	if err != nil {
		return columnType{}, s.failed(q.Name, err)
	}
	if row == nil || toText(row[0]) == "" {
		return columnType{}, q.fail(ErrKeyTable, "the catalog has no column %s of %s", column, q.Table.Name)
	}
	return parseType(toText(row[0])), nil
}

// limitOf returns the greatest integer to be reserved of a sequence with a form,
// which may be nil.
func (q *Sequence) limitOf(f *rowStatements) int64 {
	if f == nil {
		return q.max()
	}
	return min(q.max(), f.max)
}
