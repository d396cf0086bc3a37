package store

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Two sequences may number one column while each has integers of its own: one ends
// where the other begins. The end stands in the row of the first, behind its incarnation,
// so that each statement that reserves compares it or answers with it. No process has to
// know of the end beforehand, and no two rows have to be read at the same moment.
//
// A row that is made later has no end. A mark in the row of the second sequence keeps it
// out, even where its source is Exclusive and would not look at other states.

// stateOf returns the row of the sequence that a row naming a column stands for: itself,
// or the state that it binds to the column. It is nil where that is another kind of state.
func (d binder) stateOf(ctx context.Context, name string, row *storedRow, c Column) (string, *storedRow, error) {
	switch {
	case row.table != c.table() || row.column != c.Name || name == MutexName(c):
		return name, nil, nil
	case row.parameters == "":
		return name, row, nil
	case row.parameters != bindingParameters:
		return name, nil, nil
	}
	state, found := strings.CutSuffix(name, " for "+c.String())
	if !found {
		return name, nil, nil
	}
	of, err := readRow(ctx, d.store, state)
	if err != nil || of == nil || of.parameters != "" || of.table != "" {
		return name, nil, err
	}
	return state, of, nil
}

// overlapping returns the name of a state of the column that may give the same integers as
// the binding's, "" where there is none. A sequence with StartAt gives the others an end
// there, unless it only looks.
func (d binder) overlapping(ctx context.Context, b *binding, c Column, v values) (string, error) {
	others := d.store.engine.others
	found, err := d.store.conn.rows(ctx, strings.Replace(others.text, "MIN(name)", "name", 1), others.bind(v))
	if err != nil {
		return "", d.store.failed(b.state, err)
	}
	// A state that begins above this one's end was made when that end was there: the row
	// of this one has to be read behind the other's name.
	own, err := readRow(ctx, d.store, b.row)
	if err != nil {
		return "", err
	}
	// All of them are looked at before one gets its end: who is refused gives none.
	looking := *b
	looking.looks = true
	for _, b := range []*binding{&looking, b} {
		for _, one := range found {
			name := toText(one[0])
			if apart, err := d.isApart(ctx, b, own, c, name); err != nil || !apart {
				return name, err
			}
		}
		if b.looks && b.startAt == 0 {
			break // it has no end to give
		}
	}
	return "", nil
}

// isAbove reports whether another state of the column begins where this one's row ends.
// One that has an end there itself has come to it from below, and so may one that has not
// begun by StartAt.
func isAbove(other, own *storedRow) bool {
	if own == nil {
		return false
	}
	at, end := endOf(own.incarnation), endOf(other.incarnation)
	return at > 0 && at <= other.next && hasBegun(other.incarnation) && (end == 0 || end > at)
}

// besideBegun returns the name of another sequence of the column that has begun by
// StartAt, "" where there is none. Its row names the column, since it is not Shared.
func (d binder) besideBegun(ctx context.Context, b *binding, v values) (string, error) {
	others := d.store.engine.others
	marked := others.text + " AND incarnation LIKE '%" + beginMark + "%'"
	row, err := d.store.conn.query(ctx, strings.Replace(marked, "MIN(name)", "MIN(incarnation)", 1), others.bind(v))
	if err == nil && (row == nil || !hasBegun(toText(row[0]))) {
		return "", nil
	}
	if err == nil {
		row, err = d.store.conn.query(ctx, marked, others.bind(v))
	}
	if err != nil {
		return "", d.store.failed(b.state, err)
	}
	if row == nil {
		return "", nil // it was removed in between
	}
	return toText(row[0]), nil
}

// beginTries is how often a row is marked that others have changed meanwhile.
const beginTries = 3

// begin marks the row of a sequence with StartAt, before it looks for others. Of two that
// are made at the same time, the other one finds the mark, or this one finds its row.
func (d binder) begin(ctx context.Context, b *binding, own *storedRow) error {
	for range beginTries {
		if hasBegun(own.incarnation) {
			return nil
		}
		if err := d.mark(ctx, b, b.row, own.incarnation, withBegin(own.incarnation), maxNext); err != nil {
			return err
		}
		found, err := readRow(ctx, d.store, b.row)
		if err != nil {
			return err
		}
		if found == nil {
			return d.store.failed(b.row, errRemoved)
		}
		*own = *found
	}
	return d.store.failed(b.row, anchor.New("contention", "the row was changed each time that it was to be marked: insert again"))
}

// mark gives a row another incarnation, where it still has the one that was read, and has
// reserved no integer from limit on.
func (d binder) mark(ctx context.Context, b *binding, name, before, after string, limit int64) error {
	set := d.store.engine.markRow()
	v := values{Version: after, Name: name, Incarnation: before, Limit: limit}
	if _, err := d.store.conn.exec(ctx, set.text, set.bind(v)); err != nil {
		return d.store.failed(b.state, err)
	}
	return nil
}

// isApart reports whether another state of the column gives none of the integers that this
// one may give. own is this one's row, nil before it is made.
func (d binder) isApart(ctx context.Context, b *binding, own *storedRow, c Column, name string) (bool, error) {
	row, err := readRow(ctx, d.store, name)
	if err != nil || row == nil {
		return err == nil, err
	}
	name, other, err := d.stateOf(ctx, name, row, c)
	if err != nil || other == nil {
		return false, err
	}
	begins := b.startAt
	if begins == 0 && own != nil && b.alone {
		begins = own.next
	}
	switch end := endOf(other.incarnation); {
	case end > 0 && end <= begins:
		return true, nil
	case isAbove(other, own):
		return true, nil
	case b.startAt == 0, b.startAt < other.next:
		return false, nil
	}
	return d.giveEnd(ctx, b, name, other)
}

// giveEnd gives the row of another state its end, where this one begins. It is false where
// the other has reserved integers from there on meanwhile.
func (d binder) giveEnd(ctx context.Context, b *binding, name string, other *storedRow) (bool, error) {
	if b.looks {
		return true, nil
	}
	if err := d.mark(ctx, b, name, other.incarnation, withEnd(other.incarnation, b.startAt), b.startAt); err != nil {
		return false, err
	}
	// What the row holds is the proof, whoever has written it.
	other, err := readRow(ctx, d.store, name)
	if err != nil || other == nil {
		return err == nil, err
	}
	end := endOf(other.incarnation)
	return end > 0 && end <= b.startAt, nil
}
