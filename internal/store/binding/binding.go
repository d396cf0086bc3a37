// Package binding decides which state (the stored counter of a key source) serves a
// column. A row of keyfill_sequences binds a state to a column. The package makes these
// rows, finds the states that are bound to a column already, decides between states
// that are opened for one column at the same time, and lets two sequences share a
// column if one of them ends at the first integer of the other. A [Claim] binds a state
// that has no row of its own.
package binding

//row:changes | which state has a column, and what happens when two want it | `internal/store/binding`: `binding.go`, `contest.go`, `claim.go`

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

// Parameters is the text in the column parameters of a row that binds a stored counter
// to a column.
const Parameters = "binding"

// Binding ties a state (the stored counter of a key source) to the columns that get its
// keys, by a row of keyfill_sequences for each column that the state's own row does not
// name.
type Binding struct {
	Row       string // the name of the stored counter's own row in keyfill_sequences; empty if it has none
	State     string // the name of the stored counter, with which the names of its binding rows begin
	Columns   []store.Column
	Exclusive bool
	OfValue   bool // whether the state's name holds a value of the execution, such as a tenant

	// Ends reports whether the state (stored counter) is a row of keyfill_sequences that
	// may have an end: the first integer from which on another state may serve the column.
	// Alone reports whether that row names its only column. Looks reports that no row may
	// be changed. StartAt is the StartAt of the state's [sequence.Sequence].
	Ends, Alone, Looks bool
	StartAt            int64

	// Parameters is the text that the binding rows hold in their column parameters. The
	// text may never change.
	Parameters string
	Fail       func(cause error, format string, args ...any) *store.Error
}

// RowFor returns the name of the row that binds the stored counter to column c, such as
// "numbers for sales.orders.id". It has at most 190 characters.
func (b *Binding) RowFor(c store.Column) string {
	return store.ShortName(b.State + " for " + c.String())
}

// RowFor returns the name of the row that binds a stored counter to column c.
func RowFor(state string, c store.Column) string { return (&Binding{State: state}).RowFor(c) }

// Binder reads and writes the rows of keyfill_sequences that bind stored counters to
// columns, in the database of Store.
type Binder struct{ Store *store.Store }

// CheckAll returns [store.ErrTaken] if another stored counter is bound to one of the
// columns of b.
func (d Binder) CheckAll(ctx context.Context, b *Binding) error {
	for _, c := range b.Columns {
		if err := d.CheckTaken(ctx, b, c); err != nil {
			return err
		}
	}
	return nil
}

// CheckTaken returns [store.ErrTaken] if another state (stored counter) is bound to
// column c and may give the same integers. The error is [store.ErrStartAt] instead if b
// has a StartAt, and [store.ErrBegun] if the other state has one.
func (d Binder) CheckTaken(ctx context.Context, b *Binding, c store.Column) error {
	_, err := d.taker(ctx, b, c)
	return err
}

// taker checks a column as [Binder.CheckTaken] does, and also returns the name of the
// other stored counter's row. The name is empty if there is no such row, or if the
// check failed for another reason.
func (d Binder) taker(ctx context.Context, b *Binding, c store.Column) (name string, err error) {
	own := b.RowFor(c)
	v := engine.Values{Name: b.Row, Binding: own, Table: c.TableName(), Column: c.Name}
	if b.Row == "" {
		v.Name = own // in Oracle, no comparison with the empty text (NULL) is true
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
		return name, b.Fail(store.ErrStartAt, "%s", d.named(ctx, b, name))
	}
	if begun, err := d.besideBegun(ctx, b, v); err != nil {
		return "", err
	} else if begun != "" {
		return begun, b.Fail(store.ErrBegun, "%s", d.named(ctx, b, begun))
	}
	if b.OfValue {
		return name, b.Fail(store.ErrTakenByValue, "")
	}
	if state, found := strings.CutSuffix(name, " for "+c.String()); found {
		return name, b.Fail(store.ErrTaken, "%s%q, whose row for this column is %q", d.owner(ctx), state, name)
	}
	return name, b.Fail(store.ErrTaken, "%s", d.named(ctx, b, name))
}

// named returns the text by which an error names the row of another stored counter; empty if
// that name may hold the value of another tenant.
func (d Binder) named(ctx context.Context, b *Binding, row string) string {
	if b.OfValue {
		return ""
	}
	return fmt.Sprintf("%s%q", d.owner(ctx), row)
}

// owner returns the text that precedes the name of a row in an error: it names the
// database that has the row, since a policy with several stores has several databases.
// It is empty if the database has no name or the name cannot be read.
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

// Bind makes sure that each column has a row that binds the state (stored counter) to
// it, and that no other state is bound to the column. made reports whether Bind has
// made such a row.
func (d Binder) Bind(ctx context.Context, b *Binding) (made bool, err error) {
	type unbound struct {
		column store.Column
		row    *staterow.Row // nil if the column has no binding row yet
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
	// Sort the columns, so that every process binds them in the same order: otherwise each
	// of two stored counters with the same columns could get one of them.
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

// checkUnbound checks a column as [Binder.CheckTaken] does, for a stored counter that
// is not bound to it yet: row is nil, or a candidate (a binding row that does not hold
// the column yet).
func (d Binder) checkUnbound(ctx context.Context, b *Binding, c store.Column, row *staterow.Row) error {
	switch {
	case row != nil && row.Parameters != b.Parameters:
		return b.checkRow(row, c)
	case row != nil && namesColumn(row):
		return nil // the row is a candidate for the column already: it does not hold the column yet
	}
	return d.CheckTaken(ctx, b, c)
}

// checkRow returns an error if row does not bind the stored counter to column c, or was
// made with other parameters.
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
