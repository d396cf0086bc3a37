package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/keysource"
)

// Claim says which state fills a column, where no row of keyfill_sequences does:
// the state is a table or procedure of the application's, a sequence of the engine,
// the greatest key, the clock, or in another database.
type Claim struct {
	State  string // what the name of the row begins with, as in [Claim.Row]
	Column Column

	// Exclusive means the same as in a [Sequence].
	Exclusive bool

	// Parameters mean the same as in a [Worker].
	Parameters string
}

// ClaimOfMax is the claim of whoever takes the greatest key of a column and one.
// Where there is a mutex, its row has the name that [MutexName] returns.
func ClaimOfMax(c Column) Claim { return Claim{Column: c} }

// Row returns the name of the claim's row.
func (c Claim) Row() string {
	if c.State == "" {
		return MutexName(c.Column)
	}
	return c.binding().rowFor(c.Column)
}

func (c Claim) binding() *binding {
	b := &binding{state: c.State, columns: []Column{c.Column}, exclusive: c.Exclusive, parameters: bindingParameters}
	switch {
	case c.State == "":
		b.row, b.state, b.parameters = MutexName(c.Column), "maxplusone", ""
	case c.Parameters != "":
		b.parameters += ": " + c.Parameters
	}
	b.fail = func(cause error, format string, args ...any) *Error {
		return &Error{Name: b.state, Columns: b.columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
	}
	return b
}

// Claim notes a claim in keyfill_sequences. It is [ErrTaken] where another state
// fills the column. noted says that the row is there, and made that this call has
// made it: inside a transaction that is undone with it.
//
// Where there is no such table nothing is noted, nor where it may be read but not
// written: whoever comes later does not find out then.
func (c Claim) Note(ctx context.Context, s *Store) (noted, made bool, err error) {
	r, d := s, binder{s}
	if r.inside {
		if !r.engine.sturdy {
			return false, false, nil
		}
		// A transaction that has read before it writes does not wait for another
		// writer.
		if err := ColumnOf(r, c.Column).LockFirst(ctx); err != nil {
			return false, false, r.failed(c.Row(), err)
		}
		if err := lockOfRows(r).first(ctx); err != nil {
			return false, false, r.failed(c.Row(), err)
		}
	}
	switch there, err := r.canRead(ctx, sequencesTable); {
	case err != nil:
		return false, false, r.failed(c.Row(), err)
	case !there:
		return false, false, nil
	}
	b := c.binding()
	stored, err := readRow(ctx, d.store, c.Row())
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
		createErr := makeRow(ctx, d.store, c.Row(), next, c.Column.table(), c.Column.Name, b.parameters)
		if stored, err = readRow(ctx, d.store, c.Row()); err != nil {
			return false, false, cmp.Or(createErr, err)
		}
		if stored == nil {
			if isBroken(createErr) || ctx.Err() != nil {
				return false, false, r.failed(c.Row(), createErr)
			}
			return false, false, nil // it may be read, not written
		}
	}
	if isCandidate(stored) {
		err := d.contend(ctx, b, c.Column, nil)
		if errors.Is(err, ErrRights) {
			return false, false, nil // it may be made, not changed
		}
		return err == nil, true, err
	}
	fresh := stored
	if !made {
		fresh = nil
	}
	if err := d.keep(ctx, b, c.Column, fresh); err != nil {
		return false, false, err
	}
	switch {
	case stored.table != c.Column.table() || stored.column != c.Column.Name:
		return false, false, b.fail(ErrBound, "the row %q, which is to bind the state to %s", c.Row(), c.Column)
	case stored.parameters != b.parameters:
		return false, false, b.fail(ErrLayout, "they were %q, in the row %q", strings.TrimPrefix(stored.parameters, bindingParameters+": "), c.Row())
	}
	return true, made, nil
}

// LookClaim says whether the column of a claim is another state's. Without
// keyfill_sequences there is none that could be known.
func (c Claim) Look(ctx context.Context, s *Store) error {
	if s.probe(ctx, sequencesTable) != nil {
		return nil
	}
	return binder{s}.checkAll(ctx, c.binding())
}

// LookMax is [Store.LookClaim] for the greatest key and one: it is keysource.ErrExhausted
// where the greatest key is last, or greater.
func (c Claim) LookMax(ctx context.Context, s *Store, last int64) error {
	if err := c.Look(ctx, s); err != nil || c.Column.Unranked {
		return err
	}
	greatest, err := ColumnOf(s, c.Column).MaxKey(ctx)
	if err == nil && greatest >= last {
		err = c.binding().fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", last)
	}
	return err
}
