package keycolumn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/keyfill/keyfill/internal/store"
)

// MaxKey returns the greatest key of the column, which the engine finds at the end of
// an index that begins with the column. It is 0 if the table is empty. A key above
// 2⁶³−1 counts as 2⁶³−1.
func (k *KeyColumn) MaxKey(ctx context.Context) (int64, error) {
	if k.Column.Texts != nil {
		return k.MaxKeyIn(ctx, 1, math.MaxInt64)
	}
	return k.integer(ctx, k.maxText(), nil)
}

// MaxKeyBelow returns the greatest key from 1 to limit−1; 0 if there is none.
func (k *KeyColumn) MaxKeyBelow(ctx context.Context, limit int64) (int64, error) {
	return k.MaxKeyIn(ctx, 1, limit-1)
}

// MaxKeyUpTo returns the greatest key that is below limit and not in the range skip; a
// limit of 0 means no limit.
func (k *KeyColumn) MaxKeyUpTo(ctx context.Context, limit int64, skip store.Range) (int64, error) {
	switch {
	case skip.Last > 0 && (limit == 0 || skip.Last < limit-1):
		last := int64(math.MaxInt64)
		if limit > 0 {
			last = limit - 1
		}
		if key, err := k.MaxKeyIn(ctx, skip.Last+1, last); key > 0 || err != nil {
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

// MaxKeyIn returns the greatest key between from and to, both included; 0 if there is
// none.
func (k *KeyColumn) MaxKeyIn(ctx context.Context, from, to int64) (int64, error) {
	if k.Column.Texts != nil {
		where := &conditions{of: k}
		if where.numbers(max(from, 0), to); where.none {
			return 0, nil
		}
		return k.integer(ctx, k.maxText()+where.text(), where.args)
	}
	column, w := k.Name(), &k.Store.Engine.Series
	low, high := w.Placeholder(1), w.Placeholder(2)
	if w.Number != "" {
		low, high = fmt.Sprintf(w.Number, low), fmt.Sprintf(w.Number, high)
	}
	return k.integer(ctx, k.maxText()+" WHERE "+column+" BETWEEN "+low+" AND "+high, []any{from, to})
}

// MaxKeyWithin returns the greatest key of the rows whose columns have the given
// values. hint follows the table's name in the query. It also sets Current, if the
// engine can say whether the query saw all committed rows.
func (k *KeyColumn) MaxKeyWithin(ctx context.Context, columns []string, hint string, values []any) (int64, error) {
	beside, current := k.Store.HidesRows(k.Table()), k.Store.Engine.Keys.Current
	if current != "" {
		beside += ", " + fmt.Sprintf(current, store.NameLiteral(k.Table()))
	}
	where := &conditions{of: k, args: slices.Clone(values)}
	for _, c := range columns {
		where.add(k.Store.Dialect.QuoteIdent(c) + " = " + where.nextPlace())
	}
	if x := k.Column.Texts; x != nil && x.Width == 0 {
		return 0, unread(ctx, k, where)
	} else if x != nil {
		where.numbers(1, math.MaxInt64)
	}
	query := fmt.Sprintf(k.Store.Engine.Keys.MaxKey, k.Name(), beside, k.Table()) + hint + where.text()
	row, err := k.ask(ctx, query, where.args)
	if last := len(row) - 1; err == nil && current != "" && last == 2 {
		var n int64
		n, err = store.Integer(row[last])
		k.Current, row = n == 1, row[:last]
	}
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	return numberOf(k, row[0])
}

// MaxDigits returns the greatest text in the column that consists of as many digits as from
// and to, and lies between from and to, both included; it is empty if there is none.
func (k *KeyColumn) MaxDigits(ctx context.Context, from, to string) (string, error) {
	query := fmt.Sprintf("SELECT MAX(%[1]s) FROM %[2]s WHERE %[1]s BETWEEN %[3]s AND %[4]s", k.Name(), k.Table(), k.Store.Literal(from), k.Store.Literal(to))
	row, err := k.ask(ctx, query, nil)
	if err != nil || row == nil {
		return "", err
	}
	return store.Text(row[0]), nil
}

// maxText returns the text of the query for the greatest key.
func (k *KeyColumn) maxText() string {
	return fmt.Sprintf(k.Store.Engine.Keys.MaxKey, k.Name(), k.Store.HidesRows(k.Table()), k.Table())
}
