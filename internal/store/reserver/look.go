package reserver

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Look returns the state (stored counter) of a sequence, and the error that [Open]
// would return. It makes neither tables nor rows. A state that is not above the keys is
// [store.ErrBehind], unless the remedy of the sequence is to warn or to advance. A
// state that Open would make is described as Open would make it.
func Look(ctx context.Context, s *store.Store, q sequence.Sequence) (sequence.Looked, error) {
	o := opener{store: s, q: &q}
	if err := q.Check(s.Dialect); err != nil {
		return sequence.Looked{}, err
	}
	if q.IsForeign() {
		got, err := o.openForeign(ctx)
		row := sequence.NewRow(s, &q, got.form)
		found := sequence.Looked{Next: got.row.Next, Last: row.Limit(), Greatest: got.greatest, IsRanked: err == nil && got.known && q.Codec == nil}
		if err != nil {
			return found, err
		}
		if got.form != nil && got.form.Lockless && q.Procedure == "" && q.Lock != sequence.LockOptimistic {
			return found, q.Fail(store.ErrKeyEngine, "") // the first reservation would return this error
		}
		return found, found.Behind(row, got.known)
	}
	found := sequence.Looked{Last: q.Ceiling()}
	err := s.Probe(ctx, engine.SequencesTable)
	missing := err != nil && q.EnsureSchema && s.IsMissing(err)
	if err != nil && !missing {
		return found, s.Failed(q.Name, s.Judge(ctx, store.ErrTables, err, store.ProbeText(engine.SequencesTable), nil))
	}
	if found.Greatest, found.IsRanked, err = sequence.ColumnsOf(s, &q).Greatest(ctx); err != nil {
		return found, err
	}
	if missing {
		return found, o.lookUnmade(ctx, &found, false)
	}
	stored, err := staterow.Read(ctx, s, q.Name)
	if err != nil {
		return found, err
	}
	if stored == nil {
		return found, o.lookUnmade(ctx, &found, true)
	}
	if staterow.EndOf(stored.Incarnation) != q.End() && !q.HoldsBlocks() {
		q.Remember(stored) // the row has an end, and keys from there on belong to another stored counter
		if found.Greatest, found.IsRanked, err = sequence.ColumnsOf(s, &q).Greatest(ctx); err != nil {
			return found, err
		}
	}
	found.Last, found.KeysEnd = q.Ceiling(), q.KeysEnd()
	if found.Next = q.Bounds.First(stored.Next); stored.Next < 1 && q.OnBehind != keysource.RemedyAdvance {
		return found, o.row().BelowOne(stored.Next)
	}
	if !q.Serves(stored) || stored.Parameters != q.Parameters {
		_, err := o.checkRow(ctx, stored, nil, true) // checkRow returns this error before it binds anything
		return found, err
	}
	if err := (binding.Binder{Store: s}).CheckAll(ctx, q.LookedAt()); err != nil {
		return found, err
	}
	return found, found.Behind(o.row(), true)
}

// LookUnmade returns the error that [Look] would return for a sequence after keyfill's
// tables were created, while they are still empty.
func LookUnmade(ctx context.Context, s *store.Store, q sequence.Sequence) error {
	if q.Create {
		return nil
	}
	greatest, _, err := sequence.ColumnsOf(s, &q).Greatest(ctx)
	if err != nil {
		return err
	}
	o := opener{store: s, q: &q}
	return o.row().NoRow(ctx, greatest)
}

// lookUnmade returns the error for which Open would not make the row of a sequence, or
// could not use the row that it makes. there reports whether keyfill's tables exist;
// tables that Open makes are empty.
func (o opener) lookUnmade(ctx context.Context, found *sequence.Looked, there bool) error {
	q := o.q
	if !q.Create {
		return o.row().NoRow(ctx, found.Greatest)
	}
	claimed, err := unused(ctx, q)
	if err != nil {
		return err
	}
	if there {
		if err := o.wasThere(ctx); err != nil {
			return err
		}
	}
	if q.Fresh {
		used, err := sequence.ColumnsOf(o.store, q).Used(ctx)
		if err != nil {
			return err
		}
		if used {
			return o.row().NoRow(ctx, 0)
		}
	}
	start, err := o.start(ctx, found.Greatest, found.IsRanked)
	if err != nil {
		return err
	}
	if there {
		if err := (binding.Binder{Store: o.store}).CheckAll(ctx, q.LookedAt()); err != nil {
			return err
		}
	}
	found.Unmade, found.Next = true, max(start, claimed)
	return found.Behind(o.row(), true)
}
