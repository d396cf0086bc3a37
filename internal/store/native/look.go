package native

import (
	"cmp"
	"context"
	"math"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/nativecatalog"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// Look returns the state of the sequence, and the error that the first draw would
// return. It draws nothing. It returns [store.ErrBehind] if the last value of the
// sequence is below the greatest key.
func (r *Reserver) Look(ctx context.Context) (sequence.Looked, error) {
	q, err := r.open(ctx)
	if err != nil {
		return sequence.Looked{}, err
	}
	found := sequence.Looked{Last: cmp.Or(q.max, math.MaxInt64), Sequence: q.Quoted}
	// Read the greatest key before the last value: a key that another session stores in
	// between was drawn before, so the last value includes it.
	served := sequence.Sequence{Columns: r.native.Columns}
	if found.Greatest, found.IsRanked, err = sequence.ColumnsOf(r.store, &served).Greatest(ctx); err != nil {
		return found, err
	}
	catalog := nativecatalog.Of(r.store)
	facts, err := catalog.Facts(ctx, q.Name)
	if err != nil || facts == nil {
		return found, err
	}
	step := max(facts.Increment, 1)
	switch {
	case facts.Last > 0:
		found.Next = facts.Last + min(step, store.MaxNext-facts.Last)
	case catalog.Statements.Start.Text != "":
		// No value was drawn yet, so the next value is the start.
		start := catalog.Statements.Start
		row, err := r.store.Conn.Query(ctx, start.Text, start.Bind(nativecatalog.Args{Name: q.Name}))
		if err == nil && row != nil {
			found.Next, err = store.Integer(row[0])
		}
		if err != nil {
			return found, r.store.Failed(q.Shown(), err)
		}
	}
	if found.Next > 0 && facts.Increment > 0 && found.IsRanked && found.Next <= found.Greatest-(step-1) {
		e := r.fail(q, store.ErrBehind, "")
		e.Next = found.Next
		return found, e
	}
	return found, nil
}
