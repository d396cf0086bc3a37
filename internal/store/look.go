package store

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// Looked is a state as it was found by one of the methods that look at it and change
// nothing.
type Looked struct {
	Next     int64 // the lowest integer that is not reserved; 0 where there is no state, or it does not tell
	Last     int64 // the greatest integer that the state can give
	Greatest int64 // key in the columns
	IsRanked bool  // Greatest was asked for
	KeysEnd  int64 // from which integer on keys are not the state's; 0 for none
	Unmade   bool  // the state is not there yet: Next is where it would begin

	// Sequence is the sequence of the engine that is the state, as it is written in SQL; ""
	// for other states.
	Sequence string
}

// Look says of a sequence what [Store.Open] would say, and changes nothing: neither
// tables nor rows are made, and a state that is behind is [ErrBehind] unless its remedy
// is to warn or to advance. A state that Open would make is looked at as it would be made.
func (s *Store) Look(ctx context.Context, q Sequence) (Looked, error) {
	o := opener{run: s.run, q: &q}
	if err := q.check(s.run.dialect); err != nil {
		return Looked{}, err
	}
	if q.foreign() {
		got, err := o.openForeign(ctx)
		row := &sequenceRow{s.run, &q, got.form}
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
	err := s.run.probe(ctx, tables[0])
	missing := err != nil && q.EnsureSchema && s.isMissing(err)
	if err != nil && !missing {
		return found, s.run.failed(q.Name, s.run.judge(ctx, ErrTables, err, probeText(tables[0]), nil))
	}
	if found.Greatest, found.IsRanked, err = s.run.columnsOf(&q).greatest(ctx); err != nil {
		return found, err
	}
	if missing {
		return found, o.lookUnmade(ctx, &found, false)
	}
	stored, err := stateRows{s.run}.read(ctx, q.Name)
	if err != nil {
		return found, err
	}
	if stored == nil {
		return found, o.lookUnmade(ctx, &found, true)
	}
	if endOf(stored.incarnation) != q.end() && !q.holdsBlocks() {
		q.remember(stored) // from its end on keys are another state's
		if found.Greatest, found.IsRanked, err = s.run.columnsOf(&q).greatest(ctx); err != nil {
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
	if err := (binder{s.run}).checkAll(ctx, q.lookedAt()); err != nil {
		return found, err
	}
	if err := s.run.columnsOf(&q).proveBelow(ctx); err != nil {
		return found, err
	}
	return found, found.behind(o.row(), true)
}

// LookUnmade says of a sequence what [Store.Look] will say when keyfill's tables were
// made, and hold nothing yet.
func (s *Store) LookUnmade(ctx context.Context, q Sequence) error {
	if q.Create {
		return nil
	}
	greatest, _, err := s.run.columnsOf(&q).greatest(ctx)
	if err != nil {
		return err
	}
	o := opener{run: s.run, q: &q}
	return o.row().noRow(ctx, greatest)
}

// behind returns the error of a state that is not above the greatest key, and cannot be
// raised above it either where the remedy is to advance.
func (f *Looked) behind(row *sequenceRow, known bool) error {
	q := row.q
	switch {
	case !known || !f.IsRanked || f.Next > f.Greatest || q.OnBehind == keysource.RemedyWarn:
		return nil
	case q.OnBehind != keysource.RemedyAdvance:
		e := q.fail(ErrBehind, "")
		e.Next = f.Next
		return e
	case f.Greatest >= f.Last:
		return row.exhausted(f.Next)
	}
	return nil
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
		used, err := o.run.columnsOf(q).used(ctx)
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
		if err := (binder{o.run}).checkAll(ctx, q.lookedAt()); err != nil {
			return err
		}
	}
	found.Unmade, found.Next = true, max(start, claimed)
	return found.behind(o.row(), true)
}

// isMissing reports whether the error of a query says that its table is not there.
func (s *Store) isMissing(err error) bool {
	if isBroken(err) {
		return false
	}
	err = s.run.refuse(ErrTables, err)
	return !errors.Is(err, ErrRights) && !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrLogin)
}

// LookWorker says of the state of a worker whether its columns are another state's,
// and whether the tables are there, as a [Marker] would before its first mark.
func (s *Store) LookWorker(ctx context.Context, w Worker) error {
	if err := checkName(w.Name); err != nil {
		return err
	}
	for _, table := range []string{workersTable, tables[0]} {
		err := s.run.probe(ctx, table)
		if err != nil && w.EnsureSchema && s.isMissing(err) {
			return nil
		}
		if err != nil {
			return s.run.failed(w.Name, s.run.judge(ctx, ErrTables, err, probeText(table), nil))
		}
	}
	return binder{s.run}.checkAll(ctx, w.binding())
}

// LookClaim says whether the column of a claim is another state's. Without
// keyfill_sequences there is none that could be known.
func (s *Store) LookClaim(ctx context.Context, c Claim) error {
	if s.run.probe(ctx, tables[0]) != nil {
		return nil
	}
	return binder{s.run}.checkAll(ctx, c.binding())
}

// LookMax is [Store.LookClaim] for the greatest key and one: it is keysource.ErrExhausted
// where the greatest key is last, or greater.
func (s *Store) LookMax(ctx context.Context, c Claim, last int64) error {
	if err := s.LookClaim(ctx, c); err != nil || c.Column.Unranked {
		return err
	}
	greatest, err := (&KeyColumn{run: s.run, column: c.Column}).MaxKey(ctx)
	if err == nil && greatest >= last {
		err = c.binding().fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", last)
	}
	return err
}

// Look says of a sequence of the engine what the first draw would say, and draws
// nothing. A sequence whose last value is below the greatest key is [ErrBehind].
func (r *NativeReserver) Look(ctx context.Context) (Looked, error) {
	q, err := r.open(ctx)
	if err != nil {
		return Looked{}, err
	}
	found := Looked{Last: cmp.Or(q.max, math.MaxInt64), Sequence: q.quoted}
	// A key that others store meanwhile was drawn before.
	served := Sequence{Columns: r.native.Columns}
	if found.Greatest, found.IsRanked, err = r.run.columnsOf(&served).greatest(ctx); err != nil {
		return found, err
	}
	facts, err := catalogOf(r.run).facts(ctx, q.nativeName)
	if err != nil || facts == nil {
		return found, err
	}
	step := max(facts.increment, 1)
	switch {
	case facts.last > 0:
		found.Next = facts.last + min(step, maxNext-facts.last)
	case r.run.dialect.Family == dialect.FamilyPostgreSQL:
		// Nothing was drawn: PostgreSQL says where it will begin.
		row, err := r.run.conn.query(ctx, "SELECT seqstart FROM pg_catalog.pg_sequence WHERE seqrelid = CAST(CAST($1 AS text) AS regclass)", []any{q.quoted})
		if err == nil && row != nil {
			found.Next, err = toInteger(row[0])
		}
		if err != nil {
			return found, r.run.failed(q.shown(), err)
		}
	}
	if found.Next > 0 && facts.increment > 0 && found.IsRanked && found.Next <= found.Greatest-(step-1) {
		e := r.fail(q, ErrBehind, "")
		e.Next = found.Next
		return found, e
	}
	return found, nil
}
