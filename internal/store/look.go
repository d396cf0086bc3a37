package store

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// Look says of a sequence what [Store.Open] would say, and changes nothing: neither
// tables nor rows are made, and a state that is behind is [ErrBehind] unless its remedy
// is to warn or to advance. A state that Open would make is looked at as it would be made.
func Look(ctx context.Context, s *Store, q Sequence) (Looked, error) {
	o := opener{store: s, q: &q}
	if err := q.check(s.dialect); err != nil {
		return Looked{}, err
	}
	if q.foreign() {
		got, err := o.openForeign(ctx)
		row := newRow(s, &q, got.form)
		found := Looked{Next: got.row.Next, Last: row.limit(), Greatest: got.greatest, IsRanked: err == nil && got.known && q.Codec == nil}
		if err != nil {
			return found, err
		}
		if got.form != nil && got.form.lockless && q.Procedure == "" && !q.optimistic() {
			return found, q.fail(ErrKeyEngine, "") // as the first reservation says
		}
		return found, found.behind(row, got.known)
	}
	found := Looked{Last: q.ceiling()}
	err := s.probe(ctx, sequencesTable)
	missing := err != nil && q.EnsureSchema && s.isMissing(err)
	if err != nil && !missing {
		return found, s.failed(q.Name, s.judge(ctx, ErrTables, err, probeText(sequencesTable), nil))
	}
	if found.Greatest, found.IsRanked, err = columnsOf(s, &q).greatest(ctx); err != nil {
		return found, err
	}
	if missing {
		return found, o.lookUnmade(ctx, &found, false)
	}
	stored, err := readRow(ctx, s, q.Name)
	if err != nil {
		return found, err
	}
	if stored == nil {
		return found, o.lookUnmade(ctx, &found, true)
	}
	if endOf(stored.incarnation) != q.end() && !q.holdsBlocks() {
		q.remember(stored) // from its end on keys are another state's
		if found.Greatest, found.IsRanked, err = columnsOf(s, &q).greatest(ctx); err != nil {
			return found, err
		}
	}
	found.Last, found.KeysEnd = q.ceiling(), q.keysEnd()
	if found.Next = max(stored.next, q.StartAt); stored.next < 1 && q.OnBehind != keysource.RemedyAdvance {
		return found, o.row().belowOne(stored.next)
	}
	if !q.serves(stored) || stored.parameters != q.Parameters {
		_, err := o.checkRow(ctx, stored, nil, true) // which says so before it binds anything
		return found, err
	}
	if err := (binder{s}).checkAll(ctx, q.lookedAt()); err != nil {
		return found, err
	}
	if err := columnsOf(s, &q).proveBelow(ctx); err != nil {
		return found, err
	}
	return found, found.behind(o.row(), true)
}

// LookUnmade says of a sequence what [Store.Look] will say when keyfill's tables were
// made, and hold nothing yet.
func LookUnmade(ctx context.Context, s *Store, q Sequence) error {
	if q.Create {
		return nil
	}
	greatest, _, err := columnsOf(s, &q).greatest(ctx)
	if err != nil {
		return err
	}
	o := opener{store: s, q: &q}
	return o.row().noRow(ctx, greatest)
}

// lookUnmade returns why Open would not make the row of a sequence, or could not use it as
// it is made. there says that keyfill's tables are there; those that Open makes are empty.
func (o opener) lookUnmade(ctx context.Context, found *Looked, there bool) error {
	q := o.q
	if !q.Create {
		return o.row().noRow(ctx, found.Greatest)
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
		used, err := columnsOf(o.store, q).used(ctx)
		if err != nil {
			return err
		}
		if used {
			return o.row().noRow(ctx, 0)
		}
	}
	start, err := o.start(ctx, found.Greatest, found.IsRanked)
	if err != nil {
		return err
	}
	if there {
		if err := (binder{o.store}).checkAll(ctx, q.lookedAt()); err != nil {
			return err
		}
	}
	found.Unmade, found.Next = true, max(start, claimed)
	return found.behind(o.row(), true)
}
