package reserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// wasThere returns [store.ErrRowGone] if the row of a Shared sequence does not exist but is
// still bound to a column. If the rows of the columns were deleted too, or the table was
// dropped, the sequence begins anew. The row of a sequence that is not Shared names its
// column itself, so nothing shows that it existed. A row with blocks of an upstream store
// gets another block of integers, above all others.
func (o opener) wasThere(ctx context.Context) error {
	q := o.q
	if !q.Shared || q.HoldsBlocks() {
		return nil
	}
	claims, err := binding.ClaimsOf(ctx, o.store, q.Name)
	if err != nil {
		return err
	}
	claims = slices.DeleteFunc(claims, func(c binding.StoredClaim) bool { return c.Next < 1 }) // a candidate
	if len(claims) == 0 {
		return nil
	}
	e := q.Fail(store.ErrRowGone, "%q", claims[0].Name)
	e.SQL, err = o.textOfGone(ctx, claims)
	if err != nil {
		return err
	}
	return e
}

// textOfGone returns the statement that makes the row again, above the keys of all
// columns that it was bound to, and above all series of integers.
func (o opener) textOfGone(ctx context.Context, claims []binding.StoredClaim) (string, error) {
	q := *o.q
	q.Made.Start = 0 // the row must not begin where it began before
	text := sequence.RowText{Row: sequence.NewRow(o.store, &q, nil)}
	if q.Fresh {
		return text.Fresh(true), nil
	}
	q.Columns = slices.Clone(q.Columns)
	for _, c := range claims {
		if slices.ContainsFunc(q.Columns, c.IsOf) {
			continue
		}
		other := columnFor(c, o.q)
		one := q
		one.Columns = []store.Column{other}
		if _, _, err := sequence.ColumnsOf(o.store, &one).Greatest(ctx); errors.Is(err, store.ErrColumn) || errors.Is(err, store.ErrRights) {
			return text.Insert("<start>", o.store.Engine.Expressions.Dual), nil
		} else if err != nil {
			return "", err
		}
		q.Columns = append(q.Columns, other)
	}
	greatest, _, err := sequence.ColumnsOf(o.store, &q).Greatest(ctx)
	if err != nil {
		return "", err
	}
	counted, err := sequence.ColumnsOf(o.store, &q).Counted(ctx)
	if err != nil {
		return "", err
	}
	text.Series = strings.HasPrefix(q.Parameters, "series=")
	return text.Above(ctx, greatest, counted), nil
}
