package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	// bindingParameters stands in the column parameters of a row that binds a
	// state to a column.
	bindingParameters = "binding"
)

// binding ties a state to the columns that its keys go to, where no row of the
// state itself does.
type binding struct {
	row       string // the state's own row among the sequences; "" where it has none
	state     string // as the names of the binding rows begin
	columns   []Column
	exclusive bool

	// ends says that the state is a row of keyfill_sequences that may have an end: it may
	// stand beside another one that begins there. alone says that the row names its only
	// column, startAt is the StartAt of its sequence, and looks says that no row is
	// changed.
	ends, alone, looks bool
	startAt            int64

	// parameters is the text that the rows hold. It may never change.
	parameters string
	fail       func(cause error, format string, args ...any) *Error
}

// rowFor returns the name of the row that binds the state to a column, which has
// at most 190 characters: "numbers for sales.orders.id".
func (b *binding) rowFor(c Column) string {
	name := b.state + " for " + c.String()
	return shortName(name)
}

// BindingRow returns the name of the row that binds a state to a column.
func BindingRow(state string, c Column) string { return (&binding{state: state}).rowFor(c) }

// binder makes the rows of keyfill_sequences that bind states to columns, and finds
// the rows that bind other states.
type binder struct{ store *Store }

// checkAll returns [ErrTaken] when another state is bound to one of the columns.
func (d binder) checkAll(ctx context.Context, b *binding) error {
	for _, c := range b.columns {
		if err := d.checkTaken(ctx, b, c); err != nil {
			return err
		}
	}
	return nil
}

// checkTaken returns [ErrTaken] when another state is bound to a column and may give the
// same integers; for a sequence with StartAt it is [ErrStartAt], and beside one [ErrBegun].
func (d binder) checkTaken(ctx context.Context, b *binding, c Column) error {
	_, err := d.taker(ctx, b, c)
	return err
}

// taker is checkTaken, which returns the name of the other state's row too, "" where the
// error is none of the three.
func (d binder) taker(ctx context.Context, b *binding, c Column) (name string, err error) {
	own := b.rowFor(c)
	v := values{Name: b.row, Binding: own, Table: c.table(), Column: c.Name}
	if b.row == "" {
		v.Name = own // Oracle compares nothing with an empty text
	}
	if b.exclusive && b.startAt == 0 {
		if begun, err := d.besideBegun(ctx, b, v); begun == "" || err != nil {
			return "", err
		}
	}
	other, err := d.store.conn.query(ctx, d.store.engine.others.text, d.store.engine.others.bind(v))
	if err != nil {
		return "", d.store.failed(b.state, err)
	}
	if other == nil || other[0] == nil {
		return "", nil
	}
	name = toText(other[0])
	if b.ends {
		if name, err = d.overlapping(ctx, b, c, v); err != nil || name == "" {
			return "", err
		}
	}
	if b.startAt > 0 {
		return name, b.fail(ErrStartAt, "%s%q", d.owner(ctx), name)
	}
	if begun, err := d.besideBegun(ctx, b, v); err != nil {
		return "", err
	} else if begun != "" {
		return begun, b.fail(ErrBegun, "%s%q", d.owner(ctx), begun)
	}
	if state, found := strings.CutSuffix(name, " for "+c.String()); found {
		return name, b.fail(ErrTaken, "%s%q, whose row for this column is %q", d.owner(ctx), state, name)
	}
	return name, b.fail(ErrTaken, "%s%q", d.owner(ctx), name)
}

// owner returns what stands before the name of a row in an error: the name of the database
// that has the row, since a policy with stores has several. It is "" where the database
// has no name, or does not tell it.
func (d binder) owner(ctx context.Context) string {
	r := d.store
	if r.engine.database == "" {
		return ""
	}
	var name string
	if schema := r.namedSchema(); schema != "" && !r.dialect.Place.Path {
		name = schema
	} else if row, err := r.conn.query(ctx, "SELECT "+r.engine.database+r.engine.dual, nil); err == nil && row != nil {
		name = toText(row[0])
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("the database %q has ", name)
}

// bind makes sure that each column has a row that binds the state to it, and
// that no other state has. It reports whether it has made any.
func (d binder) bind(ctx context.Context, b *binding) (made bool, err error) {
	type unbound struct {
		column Column
		row    *storedRow // nil where there is none
	}
	var all []unbound
	for _, c := range b.columns {
		row, err := readRow(ctx, d.store, b.rowFor(c))
		switch {
		case err != nil:
			return false, err
		case row == nil || isCandidate(row):
			err = d.checkUnbound(ctx, b, c, row)
			all = append(all, unbound{c, row})
		default:
			if err = d.keep(ctx, b, c, nil); err == nil {
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
		c, name := one.column, b.rowFor(one.column)
		var createErr error
		if one.row == nil {
			createErr = makeRow(ctx, d.store, name, 0, c.table(), c.Name, b.parameters)
		}
		if createErr != nil && d.store.inside {
			return false, d.store.failed(name, createErr)
		}
		if err := d.contend(ctx, b, c, createErr); err != nil {
			return false, err
		}
	}
	return len(all) > 0, nil
}

// checkUnbound is checkTaken for a state whose row, nil or a candidate, does not bind it to a
// column yet.
func (d binder) checkUnbound(ctx context.Context, b *binding, c Column, row *storedRow) error {
	switch {
	case row != nil && row.parameters != b.parameters:
		return b.checkRow(row, c)
	case row != nil && namesColumn(row):
		return nil // it contends already
	}
	return d.checkTaken(ctx, b, c)
}

// checkRow returns the error of a row that does not bind the state to a column as it should.
func (b *binding) checkRow(row *storedRow, c Column) error {
	name := b.rowFor(c)
	switch {
	case row.table != c.table() || row.column != c.Name || !strings.HasPrefix(row.parameters, bindingParameters):
		return b.fail(ErrBound, "the row %q, which is to bind the state to %s", name, c)
	case row.parameters != b.parameters:
		return b.fail(ErrLayout, "they were %q, in the row %q", strings.TrimPrefix(row.parameters, bindingParameters+": "), name)
	}
	return nil
}

// orRemoved returns the error of the statement that should have made a row which
// is not there.
func orRemoved(err error) error {
	if err == nil {
		return errRemoved
	}
	return err
}
