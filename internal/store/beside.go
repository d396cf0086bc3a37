package store

import (
	"context"
	"strconv"
	"strings"
)

// Two sequences may number one column while each has integers of its own: one ends
// where the other begins. The end stands in the row of the first, behind its incarnation,
// so that each statement that reserves compares it or answers with it. No process has to
// know of the end beforehand, and no two rows have to be read at the same moment.

const (
	// endMark stands in an incarnation before the row's end.
	endMark = "<"

	// maxIdentity is how many characters of an incarnation tell its row from others. The
	// column holds these, the mark, and an end of 19 digits.
	maxIdentity = 20
)

// endOf returns the first integer that the row of an incarnation leaves to another state,
// 0 where it leaves none.
func endOf(incarnation string) int64 {
	_, digits, found := strings.Cut(incarnation, endMark)
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1 // what stands there was not written by this package
	}
	return max(end, 1)
}

// identityOf returns the part of an incarnation that stays when the row gets an end.
func identityOf(incarnation string) string {
	text, _, _ := strings.Cut(incarnation, endMark)
	if characters := []rune(text); len(characters) > maxIdentity {
		return string(characters[:maxIdentity])
	}
	return text
}

// withEnd returns the incarnation of a row that leaves the integers from end on to another
// state.
func withEnd(incarnation string, end int64) string {
	return identityOf(incarnation) + endMark + strconv.FormatInt(end, 10)
}

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
	of, err := d.rows().read(ctx, state)
	if err != nil || of == nil || of.parameters != "" || of.table != "" {
		return name, nil, err
	}
	return state, of, nil
}

// overlapping returns the name of a state of the column that may give the same integers as
// the binding's, "" where there is none. A sequence with StartAt gives the others an end
// there, unless it only looks.
func (d binder) overlapping(ctx context.Context, b *binding, c Column, v values) (string, error) {
	others := d.run.engine.others
	found, err := d.run.conn.rows(ctx, strings.Replace(others.text, "MIN(name)", "name", 1), others.bind(v))
	if err != nil {
		return "", d.run.failed(b.state, err)
	}
	// A state that begins above this one's end was made when that end was there: the row
	// of this one has to be read behind the other's name.
	own, err := d.rows().read(ctx, b.row)
	if err != nil {
		return "", err
	}
	for _, one := range found {
		name := toText(one[0])
		if apart, err := d.isApart(ctx, b, own, c, name); err != nil || !apart {
			return name, err
		}
	}
	return "", nil
}

// isApart reports whether another state of the column gives none of the integers that this
// one may give. own is this one's row, nil before it is made.
func (d binder) isApart(ctx context.Context, b *binding, own *storedRow, c Column, name string) (bool, error) {
	row, err := d.rows().read(ctx, name)
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
	case own != nil && endOf(own.incarnation) > 0 && endOf(own.incarnation) <= other.next:
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
	c := &composer{words: &d.run.engine.words}
	c.add("UPDATE keyfill_sequences", c.words.hint, "\nSET incarnation = ", c.arg(pVersion))
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value <= ", c.number(pLimit))
	set := c.statement()
	v := values{pVersion: withEnd(other.incarnation, b.startAt), pName: name, pIncarnation: other.incarnation, pLimit: b.startAt}
	if _, err := d.run.conn.exec(ctx, set.text, set.bind(v)); err != nil {
		return false, d.run.failed(b.state, err)
	}
	// What the row holds is the proof, whoever has written it.
	other, err := d.rows().read(ctx, name)
	if err != nil || other == nil {
		return err == nil, err
	}
	end := endOf(other.incarnation)
	return end > 0 && end <= b.startAt, nil
}
