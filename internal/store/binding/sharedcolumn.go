package binding

//row:changes | how two sequences share a column | `internal/store/binding/sharedcolumn.go`, `internal/store/sequence/skiprange.go`

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// Two sequences may number one column if each has integers of its own: one ends where
// the other one begins. The end (the first integer that a row leaves to another
// sequence) is stored in the row of the first sequence, after its incarnation (a random
// text), so that each statement that reserves integers compares the end or returns it.
// No process has to know the end beforehand, and no two rows have to be read at the
// same moment.
//
// A row that is made later has no end. A mark in the row of the second sequence keeps
// such a later sequence from using the column, even if its source is Exclusive and
// would not look at other stored counters.

// stateOf returns the name and the row of the sequence that a row of column c belongs
// to: the row itself, or the row of the state (stored counter) that it binds to the
// column. The returned row is nil if the state is of another kind.
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

// overlapping returns the name of another stored counter of the column that may give
// the same integers as b; empty if there is none. If b has a StartAt, overlapping
// writes it as the end into the rows of the other sequences, unless b.Looks is set.
func (d Binder) overlapping(ctx context.Context, b *Binding, c store.Column, v engine.Values) (string, error) {
	others := d.Store.Engine.Rows.Others
	found, err := d.Store.Conn.Rows(ctx, strings.Replace(others.Text, "MIN(name)", "name", 1), others.Bind(v))
	if err != nil {
		return "", d.Store.Failed(b.State, err)
	}
	// Read the row of b after the names of the other stored counters: a counter that begins
	// above the end of b was made after that end was set.
	own, err := staterow.Read(ctx, d.Store, b.Row)
	if err != nil {
		return "", err
	}
	// Check all other stored counters before writing an end (the first integer that is
	// left to b) into the first of them, so that no row is changed if b is refused.
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
			break // without StartAt there is no end to set
		}
	}
	return "", nil
}

// isAbove reports whether other, a stored counter of the same column, gives only
// integers from the end of own on. A sequence that was not begun by StartAt, or that
// has an end there itself, may have reached that integer from below, and does not
// count.
func isAbove(other, own *staterow.Row) bool {
	if own == nil {
		return false
	}
	at, end := staterow.EndOf(own.Incarnation), staterow.EndOf(other.Incarnation)
	return at > 0 && at <= other.Next && staterow.HasBegun(other.Incarnation) && (end == 0 || end > at)
}

// besideBegun returns the name of another sequence of the column that was begun by
// StartAt; empty if there is none. The row of such a sequence names the column, since
// the sequence is never Shared.
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
		return "", nil // the row that the first query found was removed before this query
	}
	return store.Text(row[0]), nil
}

// beginTries is how often [Binder.Begin] tries to mark a row while other processes
// change it.
const beginTries = 3

// Begin marks the row of a sequence with StartAt as begun, before the sequence looks for
// other stored counters of the column. If two sequences are made at the same time, either
// the other sequence finds this mark, or this sequence finds the other's row.
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
	return d.Store.Failed(b.Row, anchor.New("contention", "another process changed the state's row each time before keyfill marked it: send the INSERT again"))
}

// mark replaces the incarnation of a row (its random text), if it is still before, by
// after. It does nothing if the row has reserved integers from limit on.
func (d Binder) mark(ctx context.Context, b *Binding, name, before, after string, limit int64) error {
	set := d.Store.Engine.MarkRow()
	v := engine.Values{Version: after, Name: name, Incarnation: before, Limit: limit}
	if _, err := d.Store.Conn.Exec(ctx, set.Text, set.Bind(v)); err != nil {
		return d.Store.Failed(b.State, err)
	}
	return nil
}

// isApart reports whether another state (stored counter) of the column gives none of
// the integers that b may give. name is a row of that state; own is the row of b, nil
// if it is not made yet. If b has a StartAt, isApart also writes it as the end into the
// other state's row.
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

// giveEnd writes b.StartAt as the end into the row of another state (stored counter).
// It returns false if that state has reserved integers from there on meanwhile.
func (d Binder) giveEnd(ctx context.Context, b *Binding, name string, other *staterow.Row) (bool, error) {
	if b.Looks {
		return true, nil
	}
	if err := d.mark(ctx, b, name, other.Incarnation, staterow.WithEnd(other.Incarnation, b.StartAt), b.StartAt); err != nil {
		return false, err
	}
	// The content of the row proves that it has the end, whichever process has written it.
	other, err := staterow.Read(ctx, d.Store, name)
	if err != nil || other == nil {
		return err == nil, err
	}
	end := staterow.EndOf(other.Incarnation)
	return end > 0 && end <= b.StartAt, nil
}
