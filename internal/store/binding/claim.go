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

// Claim records which state fills a column, if the row of the state does not: the state
// is a table or procedure of the application's, a sequence of the engine, the greatest
// key, the clock, or in another database.
type Claim struct {
	State  string // what the name of the row begins with, as in [Claim.Row]
	Column store.Column

	// Exclusive means the same as in a [sequence.Sequence].
	Exclusive bool

	// Parameters mean the same as in a [worker.Worker].
	Parameters string
}

// ClaimOfMax is the claim of a source that takes the greatest key of a column and one.
// Where there is a mutex, its row has the name that [keycolumn.MutexName] returns.
func ClaimOfMax(c store.Column) Claim { return Claim{Column: c} }

// Row returns the name of the claim's row.
func (c Claim) Row() string {
	if c.State == "" {
		return keycolumn.MutexName(c.Column)
	}
	return c.binding().RowFor(c.Column)
}

func (c Claim) binding() *Binding {
	b := &Binding{State: c.State, Columns: []store.Column{c.Column}, Exclusive: c.Exclusive, Parameters: Parameters}
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

// Note writes the claim into keyfill_sequences. It returns [store.ErrTaken] if another
// state fills the column. noted reports whether the row exists, and made whether this
// call has made it: inside a transaction that is undone with it.
//
// If the table does not exist, or may be read but not written, nothing is noted: a state
// that is opened later does not find the claim then.
func (c Claim) Note(ctx context.Context, s *store.Store) (noted, made bool, err error) {
	r, d := s, Binder{s}
	if r.Inside {
		if !r.Engine.ErrorsKeepTransaction {
			return false, false, nil
		}
		// A transaction that has read before it writes does not wait for another
		// writer.
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
		var next int64 // of a candidate
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
			return false, false, nil // it may be read, not written
		}
	}
	if isCandidate(stored) {
		err := d.contend(ctx, b, c.Column, nil)
		if errors.Is(err, store.ErrRights) {
			return false, false, nil // it may be made, not changed
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
	return true, made, nil
}

// IsNoted reports whether the row of the claim binds it to its column, and no other state is
// bound to that. It reads no more than that, and reports false where it cannot.
func (c Claim) IsNoted(ctx context.Context, s *store.Store) bool {
	b := c.binding()
	row, err := staterow.Read(ctx, s, c.Row())
	return err == nil && row != nil && !isCandidate(row) && b.checkRow(row, c.Column) == nil && Binder{s}.CheckTaken(ctx, b, c.Column) == nil
}

// Look returns [store.ErrTaken] where another state has the column of the claim. Without
// keyfill_sequences no other state can be known.
func (c Claim) Look(ctx context.Context, s *store.Store) error {
	if s.Probe(ctx, engine.SequencesTable) != nil {
		return nil
	}
	return Binder{s}.CheckAll(ctx, c.binding())
}

// LookMax is [Claim.Look] for a claim of [ClaimOfMax]. It also returns keysource.ErrExhausted
// where the greatest key is last, or greater.
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
