package binding

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// Two sequences may number one column while each has integers of its own: one ends
// where the other begins. The end stands in the row of the first, after its incarnation,
// so that each statement that reserves compares it or answers with it. No process has to
// know of the end beforehand, and no two rows have to be read at the same moment.
//
// A row that is made later has no end. A mark in the row of the second sequence keeps it
// out, even where its source is Exclusive and would not look at other states.

// stateOf returns the row of the sequence that a row naming a column stands for: itself,
// or the state that it binds to the column. It is nil where that is another kind of state.
func (d Binder) stateOf(ctx context.Context, name string, row *staterow.Row, c store.Column) (string, *staterow.Row, error) {
	switch {
	case row.Table != c.TableName() || row.Column != c.Name || name == keycolumn.MutexName(c):
		return name, nil, nil
	case row.Parameters == "":
		return name, row, nil
	case row.Parameters != Parameters:
		return name, nil, nil
	}
	state, found := strings.CutSuffix(name, " for "+c.String())
	if !found {
		return name, nil, nil
	}
	of, err := staterow.Read(ctx, d.Store, state)
	if err != nil || of == nil || of.Parameters != "" || of.Table != "" {
		return name, nil, err
	}
	return state, of, nil
}

// overlapping returns the name of a state of the column that may give the same integers
// as the binding's, empty if there is none. A sequence with StartAt gives the others an
// end there, unless it only looks.
func (d Binder) overlapping(ctx context.Context, b *Binding, c store.Column, v engine.Values) (string, error) {
	others := d.Store.Engine.Rows.Others
	found, err := d.Store.Conn.Rows(ctx, strings.Replace(others.Text, "MIN(name)", "name", 1), others.Bind(v))
	if err != nil {
		return "", d.Store.Failed(b.State, err)
	}
	// A state that begins above this one's end was made when that end was there: the row
	// of this one has to be read after the other's name.
	own, err := staterow.Read(ctx, d.Store, b.Row)
	if err != nil {
		return "", err
	}
	// All of them are looked at before one gets its end: a state that is refused gives none.
	looking := *b
	looking.Looks = true
	for _, b := range []*Binding{&looking, b} {
		for _, one := range found {
			name := store.Text(one[0])
			if apart, err := d.isApart(ctx, b, own, c, name); err != nil || !apart {
				return name, err
			}
		}
		if b.Looks && b.StartAt == 0 {
			break // it has no end to give
		}
	}
	return "", nil
}

// isAbove reports whether another state of the column begins where this one's row ends.
// One that has an end there itself has come to it from below, and so may one that has not
// begun by StartAt.
func isAbove(other, own *staterow.Row) bool {
	if own == nil {
		return false
	}
	at, end := staterow.EndOf(own.Incarnation), staterow.EndOf(other.Incarnation)
	return at > 0 && at <= other.Next && staterow.HasBegun(other.Incarnation) && (end == 0 || end > at)
}

// besideBegun returns the name of another sequence of the column that has begun by
// StartAt, empty if there is none. Its row names the column, since it is not Shared.
func (d Binder) besideBegun(ctx context.Context, b *Binding, v engine.Values) (string, error) {
	others := d.Store.Engine.Rows.Others
	marked := others.Text + " AND incarnation LIKE '%" + staterow.BeginMark + "%'"
	row, err := d.Store.Conn.Query(ctx, strings.Replace(marked, "MIN(name)", "MIN(incarnation)", 1), others.Bind(v))
	if err == nil && (row == nil || !staterow.HasBegun(store.Text(row[0]))) {
		return "", nil
	}
	if err == nil {
		row, err = d.Store.Conn.Query(ctx, marked, others.Bind(v))
	}
	if err != nil {
		return "", d.Store.Failed(b.State, err)
	}
	if row == nil {
		return "", nil // it was removed in between
	}
	return store.Text(row[0]), nil
}

// beginTries is how often a row is marked that others have changed meanwhile.
const beginTries = 3

// Begin marks the row of a sequence with StartAt, before it looks for others. Of two that
// are made at the same time, the other one finds the mark, or this one finds its row.
func (d Binder) Begin(ctx context.Context, b *Binding, own *staterow.Row) error {
	for range beginTries {
		if staterow.HasBegun(own.Incarnation) {
			return nil
		}
		if err := d.mark(ctx, b, b.Row, own.Incarnation, staterow.WithBegin(own.Incarnation), store.MaxNext); err != nil {
			return err
		}
		found, err := staterow.Read(ctx, d.Store, b.Row)
		if err != nil {
			return err
		}
		if found == nil {
			return d.Store.Failed(b.Row, staterow.ErrRemoved)
		}
		*own = *found
	}
	return d.Store.Failed(b.Row, anchor.New("contention", "the row was changed each time that it was to be marked: insert again"))
}

// mark gives a row another incarnation, where it still has the one that was read, and has
// reserved no integer from limit on.
func (d Binder) mark(ctx context.Context, b *Binding, name, before, after string, limit int64) error {
	set := d.Store.Engine.MarkRow()
	v := engine.Values{Version: after, Name: name, Incarnation: before, Limit: limit}
	if _, err := d.Store.Conn.Exec(ctx, set.Text, set.Bind(v)); err != nil {
		return d.Store.Failed(b.State, err)
	}
	return nil
}

// isApart reports whether another state of the column gives none of the integers that this
// one may give. own is this one's row, nil before it is made.
func (d Binder) isApart(ctx context.Context, b *Binding, own *staterow.Row, c store.Column, name string) (bool, error) {
	row, err := staterow.Read(ctx, d.Store, name)
	if err != nil || row == nil {
		return err == nil, err
	}
	name, other, err := d.stateOf(ctx, name, row, c)
	if err != nil || other == nil {
		return false, err
	}
	begins := b.StartAt
	if begins == 0 && own != nil && b.Alone {
		begins = own.Next
	}
	switch end := staterow.EndOf(other.Incarnation); {
	case end > 0 && end <= begins:
		return true, nil
	case isAbove(other, own):
		return true, nil
	case b.StartAt == 0, b.StartAt < other.Next:
		return false, nil
	}
	return d.giveEnd(ctx, b, name, other)
}

// giveEnd gives the row of another state its end, where this one begins. It is false where
// the other has reserved integers from there on meanwhile.
func (d Binder) giveEnd(ctx context.Context, b *Binding, name string, other *staterow.Row) (bool, error) {
	if b.Looks {
		return true, nil
	}
	if err := d.mark(ctx, b, name, other.Incarnation, staterow.WithEnd(other.Incarnation, b.StartAt), b.StartAt); err != nil {
		return false, err
	}
	// The content of the row is the proof, whichever process has written it.
	other, err := staterow.Read(ctx, d.Store, name)
	if err != nil || other == nil {
		return err == nil, err
	}
	end := staterow.EndOf(other.Incarnation)
	return end > 0 && end <= b.StartAt, nil
}
