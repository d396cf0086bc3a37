package store

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// MaxKey returns the greatest key, which an engine finds at the end of an index
// that the column leads. In an empty table it is 0. A key beyond 2⁶³−1 counts as
// 2⁶³−1.
func (k *KeyColumn) MaxKey(ctx context.Context) (int64, error) {
	return k.integer(ctx, k.maxText(), nil)
}

// MaxKeyBelow is MaxKey of the keys from 1 that are below a limit.
func (k *KeyColumn) MaxKeyBelow(ctx context.Context, limit int64) (int64, error) {
	return k.maxKeyIn(ctx, 1, limit-1)
}

// MaxKeyUpTo is MaxKeyBelow, and MaxKey where the limit is 0, of the keys that are not in
// a range.
func (k *KeyColumn) MaxKeyUpTo(ctx context.Context, limit int64, skip Range) (int64, error) {
	switch {
	case skip.Last > 0 && (limit == 0 || skip.Last < limit-1):
		last := int64(math.MaxInt64)
		if limit > 0 {
			last = limit - 1
		}
		if key, err := k.maxKeyIn(ctx, skip.Last+1, last); key > 0 || err != nil {
			return key, err
		}
		return k.MaxKeyBelow(ctx, skip.First)
	case skip.Last > 0:
		return k.MaxKeyBelow(ctx, min(limit, skip.First))
	case limit == 0:
		return k.MaxKey(ctx)
	}
	return k.MaxKeyBelow(ctx, limit)
}

// maxKeyIn is MaxKey of the keys from from to to.
func (k *KeyColumn) maxKeyIn(ctx context.Context, from, to int64) (int64, error) {
	column, w := k.name(), &k.store.engine.series
	low, high := w.placeholder(1), w.placeholder(2)
	if w.number != "" {
		low, high = fmt.Sprintf(w.number, low), fmt.Sprintf(w.number, high)
	}
	return k.integer(ctx, k.maxText()+" WHERE "+column+" BETWEEN "+low+" AND "+high, []any{from, to})
}

// maxKeyWithin is MaxKey of the rows whose columns have values. hint follows the
// table's name. It also finds out whether the answer is of all rows that are committed.
func (k *KeyColumn) maxKeyWithin(ctx context.Context, columns []string, hint string, values []any) (int64, error) {
	beside, current := k.store.hides(k.table()), k.store.engine.current
	if current != "" {
		beside += ", " + fmt.Sprintf(current, nameLiteral(k.table()))
	}
	query := fmt.Sprintf(k.store.engine.maxKey, k.name(), beside, k.table()) + hint
	for i, c := range columns {
		place := k.store.engine.words.place
		if strings.Contains(place, "%") {
			place = fmt.Sprintf(place, i+1)
		}
		query += []string{" WHERE ", " AND "}[min(i, 1)] + k.store.dialect.QuoteIdent(c) + " = " + place
	}
	row, err := k.ask(ctx, query, values)
	if last := len(row) - 1; err == nil && current != "" && last == 2 {
		var n int64
		n, err = toInteger(row[last])
		k.current, row = n == 1, row[:last]
	}
	if err == nil {
		k.hidden, err = k.store.areHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	return toInteger(row[0])
}

// MaxDigits returns the greatest text in the column that consists of as many digits
// as from and to, and lies between the two, both included; "" when there is none.
func (k *KeyColumn) MaxDigits(ctx context.Context, from, to string) (string, error) {
	query := fmt.Sprintf("SELECT MAX(%[1]s) FROM %[2]s WHERE %[1]s BETWEEN %[3]s AND %[4]s", k.name(), k.table(), k.store.literal(from), k.store.literal(to))
	row, err := k.ask(ctx, query, nil)
	if err != nil || row == nil {
		return "", err
	}
	return toText(row[0]), nil
}

// maxText returns the query for the greatest key.
func (k *KeyColumn) maxText() string {
	return fmt.Sprintf(k.store.engine.maxKey, k.name(), k.store.hides(k.table()), k.table())
}
