package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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

// ForeignState returns the [Claim].State of a sequence that is in no table of this
// package.
func (q *Sequence) ForeignState() string { return q.foreignState() }

// foreignState names the key table or the procedure that knows the next integer:
// of two states that have the same one, neither gives what the other has given.
func (q *Sequence) foreignState() string {
	if q.Table == nil {
		return fmt.Sprintf("%s (procedure %s)", q.Name, q.Procedure)
	}
	if q.Table.Key == "" {
		return fmt.Sprintf("table %s", q.Table.Name)
	}
	return fmt.Sprintf("table %s (%s)", q.Table.Name, q.Table.Row)
}

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
		q := Sequence{Name: b.state, Columns: b.columns}
		return q.fail(cause, format, args...)
	}
	return b
}

// Claim notes a claim in keyfill_sequences. It is [ErrTaken] where another state
// fills the column. noted says that the row is there, and made that this call has
// made it: inside a transaction that is undone with it.
//
// Where there is no such table nothing is noted, nor where it may be read but not
// written: whoever comes later does not find out then.
func (s *Store) Claim(ctx context.Context, c Claim) (noted, made bool, err error) {
	r, d := s.run, binder{s.run}
	if r.inside {
		if !r.engine.sturdy {
			return false, false, nil
		}
		// A transaction that has read before it writes does not wait for another
		// writer.
		if err := (&KeyColumn{run: r, column: c.Column}).LockFirst(ctx); err != nil {
			return false, false, r.failed(c.Row(), err)
		}
		if err := lockOfRows(r).first(ctx); err != nil {
			return false, false, r.failed(c.Row(), err)
		}
	}
	switch there, err := r.canRead(ctx, tables[0]); {
	case err != nil:
		return false, false, r.failed(c.Row(), err)
	case !there:
		return false, false, nil
	}
	b := c.binding()
	stored, err := d.rows().read(ctx, c.Row())
	if err != nil {
		return false, false, err
	}
	if stored == nil || stored.isCandidate() {
		if err := d.checkUnbound(ctx, b, c.Column, stored); err != nil {
			return false, false, err
		}
	}
	if made = stored == nil; made {
		var next int64 // of a candidate
		if c.State == "" {
			next = 1
		}
		createErr := d.rows().make(ctx, c.Row(), next, c.Column.table(), c.Column.Name, b.parameters)
		if stored, err = d.rows().read(ctx, c.Row()); err != nil {
			return false, false, cmp.Or(createErr, err)
		}
		if stored == nil {
			if isBroken(createErr) || ctx.Err() != nil {
				return false, false, r.failed(c.Row(), createErr)
			}
			return false, false, nil // it may be read, not written
		}
	}
	if stored.isCandidate() {
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
