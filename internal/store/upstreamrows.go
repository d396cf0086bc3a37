package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/keyfill/keyfill/keysource"
)

// A sequence may have its integers from another store, the upstream, in blocks: its row
// then stands in the middle between that store and the processes. Two rows of
// keyfill_sequences hold two blocks. The row of the sequence has the block in use: where
// it stands in next_value, and where it ends behind its incarnation, as a row beside
// another sequence has its end. A second row, "orders.id (spare)", has the next block.
//
// Each of the two is changed by one UPDATE that compares the incarnation, in which the end
// stands, with the one that was read. The ends of one row only grow, so that an UPDATE
// which comes twice, or late, changes nothing:
//
//	install   writes a block into the second row, where its last one was put into use
//	turn      puts the block of the second row into use, where the end of the first row
//	          is the one that was read
//
// The second row carries the identity of the first one: a row that was removed and is made
// again has another identity, and takes no block that the row before may have used.

// UpstreamParameters are the [Sequence].Parameters of a sequence whose integers come from
// an upstream. A process whose policy names none does not use its row.
const UpstreamParameters = "upstream"

// spareParameters stands in the column parameters of the second row.
const spareParameters = "spare"

// holdsBlocks reports whether the integers of the sequence come from an upstream.
func (q *Sequence) holdsBlocks() bool { return q.Parameters == UpstreamParameters }

// spareRow returns the name of the second row of a state, of at most 190 characters.
func spareRow(state string) string {
	name := state + " (spare)"
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return string([]rune(name)[:maxName-bindingHash-1]) + "-" + hex.EncodeToString(sum[:])[:bindingHash]
}

// level is what the two rows of a sequence with an upstream say.
type level struct {
	next  int64  // the lowest integer of the block in use that is not reserved
	block string // the incarnation of the first row

	spareFirst int64
	spare      string // the incarnation of the second row; "" where there is none
}

// end returns the end (exclusive) of the block in use, 0 where there was none yet.
func (l level) end() int64 { return endOf(l.block) }

// spareEnd returns the end of the last block that was installed, 0 where there was none.
func (l level) spareEnd() int64 {
	if l.spare == "" || identityOf(l.spare) != identityOf(l.block) {
		return 0
	}
	return endOf(l.spare)
}

// hasSpare reports whether the second row has a block that is still to be put into use.
func (l level) hasSpare() bool { return l.spareEnd() > max(l.end(), l.next) }

// given returns the end of all blocks that the two rows have had.
func (l level) given() int64 { return max(l.end(), l.spareEnd()) }

// first returns where the block in use begins, 0 where that is not known.
func (l level) first() int64 {
	if l.end() > 0 && l.spareEnd() == l.end() {
		return l.spareFirst
	}
	return 0
}

// left returns how many integers are left in both blocks.
func (l level) left() int64 {
	left := max(l.end()-l.next, 0)
	if l.hasSpare() {
		left += l.spareEnd() - max(l.spareFirst, l.next)
	}
	return left
}

// turned returns the level after a turn.
func (l level) turned() level {
	l.next = max(l.next, l.spareFirst)
	l.block = withEnd(l.block, l.spareEnd())
	return l
}

// installed returns the level after a block was installed.
func (l level) installed(b blockOf) level {
	l.spareFirst, l.spare = b.first, withEnd(l.block, b.end)
	return l
}

// blockOf are the integers from first to end, which is not one of them.
type blockOf struct{ first, end int64 }

// levelRows are the two rows of a sequence with an upstream.
type levelRows interface {
	// reserveRow is [Reserver.Reserve] from the block in use.
	reserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error)

	// readLevel reads both rows.
	readLevel(ctx context.Context) (level, error)

	// install writes a block into the second row, and turn puts that block into use. They
	// report false, and have changed nothing, where a row is not as it was read. After an
	// error nobody knows.
	install(ctx context.Context, was level, b blockOf) (bool, error)
	turn(ctx context.Context, was level) (bool, error)

	// raise makes the block in use go on from to or above.
	raise(ctx context.Context, to int64) error

	// blockEnd returns the end of the block in use, as the last answer has shown it.
	blockEnd() int64

	// needsAll reports whether a reservation of fewer integers is of no use, isOurs whether
	// the rows can be used at any time, and mayWait whether a call may wait for the upstream.
	needsAll() bool
	isOurs() bool
	mayWait() bool
}

// blockRows are the rows of a [Reserver].
type blockRows struct{ *Reserver }

func (r blockRows) needsAll() bool { return r.whole }
func (r blockRows) isOurs() bool   { return r.run.pooled }
func (r blockRows) mayWait() bool  { return !r.hasty }

func (r blockRows) blockEnd() int64 { return r.sequence.end() }

func (r blockRows) raise(ctx context.Context, to int64) error { return r.row().advance(ctx, to) }

func (r blockRows) readLevel(ctx context.Context) (l level, err error) {
	if err := r.open(ctx); err != nil {
		return l, err
	}
	rows := stateRows{r.run}
	// The second row comes first: the block that it has when the first row is read later is
	// the same one, or was put into use meanwhile.
	spare, err := rows.read(ctx, spareRow(r.sequence.Name))
	if err != nil {
		return l, err
	}
	row, err := rows.read(ctx, r.sequence.Name)
	switch {
	case err != nil:
		return l, err
	case row == nil:
		r.opened.Store(false)
		return l, r.run.failed(r.sequence.Name, errRemoved)
	}
	r.sequence.remember(row)
	l.next, l.block = row.next, row.incarnation
	if spare == nil {
		return l, nil
	}
	if spare.parameters != spareParameters {
		return l, r.sequence.fail(ErrBound, "the row %q, which is to hold its next block: give the state another name", spareRow(r.sequence.Name))
	}
	l.spareFirst, l.spare = spare.next, spare.incarnation
	return l, nil
}

func (r blockRows) install(ctx context.Context, was level, b blockOf) (bool, error) {
	name := spareRow(r.sequence.Name)
	if was.spare == "" {
		// Of two that make it at once one may get an error, and both read it then.
		err := stateRows{r.run}.make(ctx, name, 1, "", "", spareParameters)
		if err == nil || r.run.inside {
			return false, err
		}
		if row, readErr := (stateRows{r.run}).read(ctx, name); readErr != nil || row == nil {
			return false, r.run.failed(name, err)
		}
		return false, nil
	}
	set := r.run.engine.composeInstall()
	return r.swapped(ctx, set, values{
		pNext: b.first, pVersion: withEnd(was.block, b.end), pName: name, pIncarnation: was.spare,
	})
}

func (r blockRows) turn(ctx context.Context, was level) (bool, error) {
	set := r.run.engine.composeTurn()
	return r.swapped(ctx, set, values{
		pNext: was.spareFirst, pVersion: withEnd(was.block, was.spareEnd()), pName: r.sequence.Name, pIncarnation: was.block,
	})
}

// swapped runs an UPDATE of one row, and reports whether it has found the row as it was.
func (r blockRows) swapped(ctx context.Context, set statement, v values) (bool, error) {
	changed, err := r.run.conn.exec(ctx, set.text, set.bind(v))
	switch {
	case err != nil:
		return false, r.run.failedAs(r.sequence.meaning(), r.sequence.Name, err)
	case changed > 1:
		return false, ErrRows
	}
	return changed == 1, nil
}

// composeInstall returns the UPDATE that writes a block into the second row.
func (e *engine) composeInstall() statement {
	c := &composer{words: &e.words}
	c.add("UPDATE keyfill_sequences", e.words.hint, "\nSET next_value = ", c.number(pNext))
	return e.composeIncarnation(c)
}

// composeTurn returns the UPDATE that puts a block into use. The row goes on above where it
// was raised to meanwhile.
func (e *engine) composeTurn() statement {
	c := &composer{words: &e.words}
	c.add("UPDATE keyfill_sequences", e.words.hint, "\nSET next_value = CASE WHEN next_value < ", c.number(pNext))
	c.add(" THEN ", c.number(pNext), " ELSE next_value END")
	return e.composeIncarnation(c)
}

// composeIncarnation ends an UPDATE that replaces an incarnation by another one.
func (e *engine) composeIncarnation(c *composer) statement {
	c.add(", incarnation = ", c.arg(pVersion), ", updated_at = ", e.now)
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation))
	return c.statement()
}
