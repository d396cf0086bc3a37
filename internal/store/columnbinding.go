package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// bindingParameters stands in the column parameters of a row that binds a
	// state to a column.
	bindingParameters = "binding"

	// bindingHash is how many characters of a name that is too long tell what
	// was left out: 80 bits.
	bindingHash = 20
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

// binding returns the binding of a sequence to its columns.
func (q *Sequence) binding() *binding {
	return &binding{
		row: q.Name, state: q.Name, columns: q.Columns, exclusive: q.Exclusive, parameters: bindingParameters, fail: q.fail,
		ends: !q.foreign() && q.Parameters == "", alone: !q.Shared, startAt: q.StartAt,
	}
}

// lookedAt is binding for who changes nothing.
func (q *Sequence) lookedAt() *binding {
	b := q.binding()
	b.looks = true
	return b
}

// WorkersState returns the [Claim].State of snowflakes, whose numbers share it.
func WorkersState(name string) string { return name + " (workers)" }

// binding returns the binding of a worker's state, which all workers' numbers
// share. A sequence of the same name is another state.
func (w *Worker) binding() *binding {
	b := &binding{state: WorkersState(w.Name), columns: w.Columns, exclusive: w.Exclusive, parameters: bindingParameters, fail: w.fail}
	if w.Parameters != "" {
		b.parameters += ": " + w.Parameters
	}
	return b
}

// rowFor returns the name of the row that binds the state to a column, which has
// at most 190 characters: "numbers for sales.orders.id".
func (b *binding) rowFor(c Column) string {
	name := b.state + " for " + c.String()
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return string([]rune(name)[:maxName-bindingHash-1]) + "-" + hex.EncodeToString(sum[:])[:bindingHash]
}

// BindingRow returns the name of the row that binds a state to a column.
func BindingRow(state string, c Column) string { return (&binding{state: state}).rowFor(c) }

// binder makes the rows of keyfill_sequences that bind states to columns, and finds
// the rows that bind other states.
type binder struct{ run *runner }

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
	v := values{pName: b.row, pBinding: own, pTable: c.table(), pColumn: c.Name}
	if b.row == "" {
		v[pName] = own // Oracle compares nothing with an empty text
	}
	if b.exclusive && b.startAt == 0 {
		if begun, err := d.besideBegun(ctx, b, v); begun == "" || err != nil {
			return "", err
		}
	}
	other, err := d.run.conn.query(ctx, d.run.engine.others.text, d.run.engine.others.bind(v))
	if err != nil {
		return "", d.run.failed(b.state, err)
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
	r := d.run
	if r.engine.database == "" {
		return ""
	}
	var name string
	if q, ok := r.conn.(qualified); ok && !r.dialect.Place.Path {
		name = q.schema
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
		row, err := d.rows().read(ctx, b.rowFor(c))
		switch {
		case err != nil:
			return false, err
		case row == nil || row.isCandidate():
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
			createErr = d.rows().make(ctx, name, 0, c.table(), c.Name, b.parameters)
		}
		if createErr != nil && d.run.inside {
			return false, d.run.failed(name, createErr)
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
	case row != nil && row.namesColumn():
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

func (d binder) rows() stateRows { return stateRows(d) }

// orRemoved returns the error of the statement that should have made a row which
// is not there.
func orRemoved(err error) error {
	if err == nil {
		return errRemoved
	}
	return err
}

// fail returns an Error about a worker's state.
func (w *Worker) fail(cause error, format string, args ...any) *Error {
	return &Error{Name: w.Name, Columns: w.Columns, Err: cause, Detail: fmt.Sprintf(format, args...), workers: true}
}
