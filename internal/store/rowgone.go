package store

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// wasThere returns [ErrRowGone] if the row of a Shared sequence is not there, and is still
// bound to a column. Whoever deletes the rows of the columns too, or drops the table, begins
// anew. The row of a sequence that is not Shared names its column itself, so that nothing is
// left of it. A row with blocks of an upstream gets another block, above all others.
func (o opener) wasThere(ctx context.Context) error {
	q := o.q
	if !q.Shared || q.holdsBlocks() {
		return nil
	}
	claims, err := claimsOf(ctx, o.store, q.Name)
	if err != nil {
		return err
	}
	claims = slices.DeleteFunc(claims, func(c storedClaim) bool { return c.next < 1 }) // a candidate
	if len(claims) == 0 {
		return nil
	}
	e := q.fail(ErrRowGone, "%q", claims[0].name)
	e.SQL, err = o.textOfGone(ctx, claims)
	if err != nil {
		return err
	}
	return e
}

// textOfGone returns the statement that makes the row again above the keys of all columns
// that it was bound to, and above all series.
func (o opener) textOfGone(ctx context.Context, claims []storedClaim) (string, error) {
	q := *o.q
	q.Start = 0 // from where the row began before
	text := rowText{row: newRow(o.store, &q, nil)}
	if q.Fresh {
		return text.fresh(true), nil
	}
	q.Columns = slices.Clone(q.Columns)
	for _, c := range claims {
		if slices.ContainsFunc(q.Columns, c.isOf) {
			continue
		}
		other := columnFor(c, o.q)
		one := q
		one.Columns = []Column{other}
		if _, _, err := columnsOf(o.store, &one).greatest(ctx); errors.Is(err, ErrColumn) || errors.Is(err, ErrRights) {
			return text.insert("<start>", o.store.engine.dual), nil
		} else if err != nil {
			return "", err
		}
		q.Columns = append(q.Columns, other)
	}
	greatest, _, err := columnsOf(o.store, &q).greatest(ctx)
	if err != nil {
		return "", err
	}
	counted, err := columnsOf(o.store, &q).counted(ctx)
	if err != nil {
		return "", err
	}
	text.series = strings.HasPrefix(q.Parameters, "series=")
	return text.above(ctx, greatest, counted), nil
}
