package binding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Claim records which state (the stored counter of a key source) fills a column, if the
// state has no row in keyfill_sequences: it is a table or procedure of the application,
// a sequence of the engine, the greatest key, the clock, or in another database.
type Claim struct {
	State  string // the text with which the name of the claim's row begins; empty for [ClaimOfMax]
	Column store.Column

	// Exclusive reports that no other source fills the column, as in a [sequence.Sequence].
	Exclusive bool

	OfValue bool // as in a [Binding]

	// Parameters are the settings that may never change, as in a [worker.Worker].
	Parameters string

	// Found is called by Note if the claim was there before; it may be nil.
	Found func()
}

// ClaimOfMax returns the claim (a row that says which source fills a column) of a
// source whose next key is the greatest key of a column plus one. The claim's row is
// named [keycolumn.MutexName], since the row also serves as a mutex on engines that
// need a mutex.
func ClaimOfMax(c store.Column) Claim { return Claim{Column: c} }

// Row returns the name of the row of the claim, which says which source fills a column.
func (c Claim) Row() string {
	if c.State == "" {
		return keycolumn.MutexName(c.Column)
	}
	return c.binding().RowFor(c.Column)
}

func (c Claim) binding() *Binding {
	b := &Binding{State: c.State, Columns: []store.Column{c.Column}, Exclusive: c.Exclusive, OfValue: c.OfValue, Parameters: Parameters}
	switch {
	case c.State == "":
		b.Row, b.State, b.Parameters = keycolumn.MutexName(c.Column), "maxplusone", ""
	case c.Parameters != "":
		b.Parameters += ": " + c.Parameters
	}
	b.Fail = func(cause error, format string, args ...any) *store.Error {
		return &store.Error{Name: b.State, Columns: b.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
	}
	return b
}

// Note writes the claim (a row that says which source fills a column) into
// keyfill_sequences. It returns [store.ErrTaken] if another state (stored counter) fills
// the column. noted reports whether the claim's row exists; made reports whether this call
// has made the row, which a rollback of the transaction would remove.
//
// Note writes nothing if the table does not exist, or if the user may read the table
// but not write it. A state that is opened later does not find the claim then.
func (c Claim) Note(ctx context.Context, s *store.Store) (noted, made bool, err error) {
	r, d := s, Binder{s}
	if r.Inside {
		if !r.Engine.ErrorsKeepTransaction {
			return false, false, nil
		}
		// Take the lock to write first: in SQLite, a transaction that has read before it
		// writes does not wait for another writer.
		if err := keycolumn.Of(r, c.Column).LockFirst(ctx); err != nil {
			return false, false, r.Failed(c.Row(), err)
		}
		if err := store.LockOfRows(r).TakeFirst(ctx); err != nil {
			return false, false, r.Failed(c.Row(), err)
		}
	}
	switch there, err := r.CanRead(ctx, engine.SequencesTable); {
	case err != nil:
		return false, false, r.Failed(c.Row(), err)
	case !there:
		return false, false, nil
	}
	b := c.binding()
	stored, err := staterow.Read(ctx, d.Store, c.Row())
	if err != nil {
		return false, false, err
	}
	if stored == nil || isCandidate(stored) {
		if err := d.checkUnbound(ctx, b, c.Column, stored); err != nil {
			return false, false, err
		}
	}
	if made = stored == nil; made {
		var next int64 // 0 marks a candidate: a row that does not hold the column yet
		if c.State == "" {
			next = 1
		}
		createErr := staterow.Make(ctx, d.Store, c.Row(), next, c.Column.TableName(), c.Column.Name, b.Parameters)
		if stored, err = staterow.Read(ctx, d.Store, c.Row()); err != nil {
			return false, false, cmp.Or(createErr, err)
		}
		if stored == nil {
			if store.IsBroken(createErr) || ctx.Err() != nil {
				return false, false, r.Failed(c.Row(), createErr)
			}
			return false, false, nil // the user may read the table, but not write it
		}
	}
	if isCandidate(stored) {
		err := d.contend(ctx, b, c.Column, nil)
		if errors.Is(err, store.ErrRights) {
			return false, false, nil // the user may insert the row, but not update it
		}
		return err == nil, true, err
	}
	fresh := stored
	if !made {
		fresh = nil
	}
	if err := d.Keep(ctx, b, c.Column, fresh); err != nil {
		return false, false, err
	}
	switch {
	case stored.Table != c.Column.TableName() || stored.Column != c.Column.Name:
		return false, false, b.Fail(store.ErrBound, "the row %q, which is to bind the state to %s", c.Row(), c.Column)
	case stored.Parameters != b.Parameters:
		return false, false, b.Fail(store.ErrLayout, "they were %q, in the row %q", strings.TrimPrefix(stored.Parameters, Parameters+": "), c.Row())
	}
	if !made && c.Found != nil {
		c.Found()
	}
	return true, made, nil
}

// IsNoted reports whether the row of the claim binds its state (stored counter) to the
// column and no other state is bound to the column. It only reads, and returns false if it
// cannot read the rows.
func (c Claim) IsNoted(ctx context.Context, s *store.Store) bool {
	b := c.binding()
	row, err := staterow.Read(ctx, s, c.Row())
	return err == nil && row != nil && !isCandidate(row) && b.checkRow(row, c.Column) == nil && Binder{s}.CheckTaken(ctx, b, c.Column) == nil
}

// Look returns [store.ErrTaken] if another stored counter serves the column of the claim (a
// row that says which source fills a column). It returns nil if keyfill_sequences cannot be
// read, since only that table names other stored counters.
func (c Claim) Look(ctx context.Context, s *store.Store) error {
	if s.Probe(ctx, engine.SequencesTable) != nil {
		return nil
	}
	return Binder{s}.CheckAll(ctx, c.binding())
}

// LookMax checks a claim of [ClaimOfMax] as [Claim.Look] does. It also returns
// keysource.ErrExhausted if the greatest key of the column is last or greater.
func (c Claim) LookMax(ctx context.Context, s *store.Store, last int64) error {
	if err := c.Look(ctx, s); err != nil || c.Column.Unranked {
		return err
	}
	greatest, err := keycolumn.Of(s, c.Column).MaxKey(ctx)
	if err == nil && greatest >= last {
		err = c.binding().Fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", last)
	}
	return err
}
