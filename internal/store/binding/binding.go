// Package binding decides which state serves a column. It makes the rows of
// keyfill_sequences that bind states to columns, finds the states that have a column
// already, settles the contest of states that are opened for one column at the same time,
// and lets two sequences share a column where one ends at the first integer of the other.
// A [Claim] binds a state that has no row of its own.
package binding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// Parameters stands in the column parameters of a row that binds a state to a column.
const Parameters = "binding"

// Binding ties a state to the columns that its keys go to, where no row of the
// state itself does.
type Binding struct {
	Row       string // the state's own row among the sequences; empty if it has none
	State     string // as the names of the binding rows begin
	Columns   []store.Column
	Exclusive bool

	// Ends reports whether the state is a row of keyfill_sequences that may have an end:
	// it may stand beside another one that begins there. Alone reports whether the row
	// names its only column, StartAt is the StartAt of its sequence, and Looks reports
	// that no row is changed.
	Ends, Alone, Looks bool
	StartAt            int64

	// Parameters is the text that the rows hold. It may never change.
	Parameters string
	Fail       func(cause error, format string, args ...any) *store.Error
}

// RowFor returns the name of the row that binds the state to a column, which has
// at most 190 characters: "numbers for sales.orders.id".
func (b *Binding) RowFor(c store.Column) string {
	return store.ShortName(b.State + " for " + c.String())
}

// RowFor returns the name of the row that binds a state to a column.
func RowFor(state string, c store.Column) string { return (&Binding{State: state}).RowFor(c) }

// Binder makes the rows of keyfill_sequences that bind states to columns, and finds
// the rows that bind other states.
type Binder struct{ Store *store.Store }

// CheckAll returns [store.ErrTaken] when another state is bound to one of the columns.
func (d Binder) CheckAll(ctx context.Context, b *Binding) error {
	for _, c := range b.Columns {
		if err := d.CheckTaken(ctx, b, c); err != nil {
			return err
		}
	}
	return nil
}

// CheckTaken returns [store.ErrTaken] when another state is bound to a column and may
// give the same integers; for a sequence with StartAt it is [store.ErrStartAt], and
// beside one [store.ErrBegun].
func (d Binder) CheckTaken(ctx context.Context, b *Binding, c store.Column) error {
	_, err := d.taker(ctx, b, c)
	return err
}

// taker is [Binder.CheckTaken], which returns the name of the other state's row too; the
// name is empty for any other error.
func (d Binder) taker(ctx context.Context, b *Binding, c store.Column) (name string, err error) {
	own := b.RowFor(c)
	v := engine.Values{Name: b.Row, Binding: own, Table: c.TableName(), Column: c.Name}
	if b.Row == "" {
		v.Name = own // Oracle compares nothing with an empty text
	}
	if b.Exclusive && b.StartAt == 0 {
		if begun, err := d.besideBegun(ctx, b, v); begun == "" || err != nil {
			return "", err
		}
	}
	other, err := d.Store.Conn.Query(ctx, d.Store.Engine.Rows.Others.Text, d.Store.Engine.Rows.Others.Bind(v))
	if err != nil {
		return "", d.Store.Failed(b.State, err)
	}
	if other == nil || other[0] == nil {
		return "", nil
	}
	name = store.Text(other[0])
	if b.Ends {
		if name, err = d.overlapping(ctx, b, c, v); err != nil || name == "" {
			return "", err
		}
	}
	if b.StartAt > 0 {
		return name, b.Fail(store.ErrStartAt, "%s%q", d.owner(ctx), name)
	}
	if begun, err := d.besideBegun(ctx, b, v); err != nil {
		return "", err
	} else if begun != "" {
		return begun, b.Fail(store.ErrBegun, "%s%q", d.owner(ctx), begun)
	}
	if state, found := strings.CutSuffix(name, " for "+c.String()); found {
		return name, b.Fail(store.ErrTaken, "%s%q, whose row for this column is %q", d.owner(ctx), state, name)
	}
	return name, b.Fail(store.ErrTaken, "%s%q", d.owner(ctx), name)
}

// owner returns the text that precedes the name of a row in an error: the name of the
// database that has the row, since a policy with stores has several. It is empty if the
// database has no name, or the name cannot be read.
func (d Binder) owner(ctx context.Context) string {
	r := d.Store
	if r.Engine.Database == "" {
		return ""
	}
	var name string
	if schema := r.NamedSchema(); schema != "" && !r.Dialect.Place.Path {
		name = schema
	} else if row, err := r.Conn.Query(ctx, "SELECT "+r.Engine.Database+r.Engine.Expressions.Dual, nil); err == nil && row != nil {
		name = store.Text(row[0])
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("the database %q has ", name)
}

// Bind makes sure that each column has a row that binds the state to it, and
// that no other state has. It reports whether it has made any.
func (d Binder) Bind(ctx context.Context, b *Binding) (made bool, err error) {
	type unbound struct {
		column store.Column
		row    *staterow.Row // nil where there is none
	}
	var all []unbound
	for _, c := range b.Columns {
		row, err := staterow.Read(ctx, d.Store, b.RowFor(c))
		switch {
		case err != nil:
			return false, err
		case row == nil || isCandidate(row):
			err = d.checkUnbound(ctx, b, c, row)
			all = append(all, unbound{c, row})
		default:
			if err = d.Keep(ctx, b, c, nil); err == nil {
				err = b.checkRow(row, c)
			}
		}
		if err != nil {
			return false, err
		}
	}
	// In one order, whichever of the columns is the caller's own: of two states with the
	// same columns, each would get one of them.
	slices.SortFunc(all, func(x, y unbound) int { return cmp.Compare(x.column.String(), y.column.String()) })
	for _, one := range all {
		c, name := one.column, b.RowFor(one.column)
		var createErr error
		if one.row == nil {
			createErr = staterow.Make(ctx, d.Store, name, 0, c.TableName(), c.Name, b.Parameters)
		}
		if createErr != nil && d.Store.Inside {
			return false, d.Store.Failed(name, createErr)
		}
		if err := d.contend(ctx, b, c, createErr); err != nil {
			return false, err
		}
	}
	return len(all) > 0, nil
}

// checkUnbound is [Binder.CheckTaken] for a state whose row, nil or a candidate, does not
// bind it to a column yet.
func (d Binder) checkUnbound(ctx context.Context, b *Binding, c store.Column, row *staterow.Row) error {
	switch {
	case row != nil && row.Parameters != b.Parameters:
		return b.checkRow(row, c)
	case row != nil && namesColumn(row):
		return nil // it contends already
	}
	return d.CheckTaken(ctx, b, c)
}

// checkRow returns the error of a row that does not bind the state to a column as it should.
func (b *Binding) checkRow(row *staterow.Row, c store.Column) error {
	name := b.RowFor(c)
	switch {
	case row.Table != c.TableName() || row.Column != c.Name || !strings.HasPrefix(row.Parameters, Parameters):
		return b.Fail(store.ErrBound, "the row %q, which is to bind the state to %s", name, c)
	case row.Parameters != b.Parameters:
		return b.Fail(store.ErrLayout, "they were %q, in the row %q", strings.TrimPrefix(row.Parameters, Parameters+": "), name)
	}
	return nil
}

// orRemoved returns err, or [staterow.ErrRemoved] if err is nil.
func orRemoved(err error) error {
	if err == nil {
		return staterow.ErrRemoved
	}
	return err
}
