package counting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/keysource"
)

// serMoved is a commit that has reserved the integers of a series from from to to-1.
type serMoved struct {
	by       *sim.Commit
	from, to int64
}

func (m serMoved) has(key int64) bool { return m.from <= key && key < m.to }

// serMoveOf returns what a commit has reserved.
func serMoveOf(c *sim.Commit) serMoved {
	if c.Note != serMove || len(c.Changes) == 0 {
		return serMoved{}
	}
	old := simdb.Of(serTable, c.Changes[0].Old)
	now := simdb.Of(serTable, c.Changes[0].New)
	return serMoved{c, old.Int("next_value"), now.Int("next_value")}
}

// serMoves returns the commits that have reserved something.
func serMoves(commits []*sim.Commit) (all []serMoved) {
	for _, c := range commits {
		if m := serMoveOf(c); m.by != nil {
			all = append(all, m)
		}
	}
	return all
}

// moves reports whether a commit has reserved a key.
func moves(c *sim.Commit, key int64) bool { return serMoveOf(c).has(key) }

func excuseSeries(w *sim.World, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if c.Lost && mine && moves(c, key) {
			return true
		}
	}
	return false
}

// allowSeries: an error needs its cause.
func allowSeries(w *sim.World, err error) bool {
	switch {
	case errors.Is(err, keysource.ErrStoreBack):
		return w.Server.Lost()+w.Server.Switches() > 0
	case errors.Is(err, keysource.ErrStoreBehind):
		return false // the remedy is to advance, or there is no cause
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request was over, and perhaps the time of an attempt
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairSeries sets the store above all that was ever reserved, if it has gone
// back; more than once, since what a source gives back then may have been
// another one's before.
func repairSeries(w *sim.World) {
	if w.Server.Lost()+w.Server.Switches() == 0 {
		return
	}
	for range 12 {
		raiseSeries(w)
		time.Sleep(time.Second)
	}
}

func raiseSeries(w *sim.World) {
	c := newSerConfig(w)
	most, counter := map[int64]int64{}, w.Server.MaxKey()+1
	for _, commit := range w.Server.Commits() {
		for _, change := range commit.Changes {
			if row, ok := serRowOf(change.New); ok {
				most[row.first] = max(most[row.first], row.next)
				counter = max(counter, row.last+1)
			}
			if row := simdb.Of(seqTable, change.New); row != nil {
				counter = max(counter, row.Int("next_value"))
			}
		}
	}
	w.Server.Edit(func(tx *sim.Tx) {
		for _, row := range simdb.Rows(tx, serTable) {
			raiseRow(tx, row, "next_value", most[row.Int("series_first")])
		}
		for _, row := range simdb.Rows(tx, seqTable) {
			raiseRow(tx, row, "next_value", (counter+c.size-2)/c.size*c.size+1)
		}
	})
}

// raiseRow raises an integer of a row, as an operator does.
func raiseRow(tx *sim.Tx, row *simdb.Row, column string, to int64) {
	if row.Int(column) < to {
		simdb.Put(tx, row.With(column, to))
	}
}

// checkSeries checks what only series promise.
func checkSeries(w *sim.World) {
	commits := w.Server.Commits()
	moved := serMoves(commits)
	for _, i := range w.Issues {
		checkSeriesReserved(w, moved, i)
		if len(w.Broken()) > 0 {
			return
		}
	}
	checkSeriesOwned(w, commits, newSerConfig(w).lease)
	checkSeriesOne(w, commits)
}

// checkSeriesOwned: a series is changed by its owner, or by another one when its
// lease has run out.
func checkSeriesOwned(w *sim.World, commits []*sim.Commit, lease time.Duration) {
	for _, c := range commits {
		for _, change := range c.Changes {
			old, had := serRowOf(change.Old)
			now, has := serRowOf(change.New)
			owner := fmt.Sprintf("%d.%d.", c.Process, c.Life)
			switch {
			case c.Note == serMove && had && (!strings.HasPrefix(old.owner, owner) || old.epoch != c.Read):
				w.Failf("owned: process %d.%d moved the series of %q at %s", c.Process, c.Life, old.owner, c.At)
			case c.Note == serTake && had && old.owner != "" && c.Read <= old.renewed+lease.Milliseconds():
				w.Failf("leased: process %d.%d took over from %q at %s", c.Process, c.Life, old.owner, c.At)
			case c.Note == serTake && had && has == (old.next > old.last):
				w.Failf("spent: process %d.%d took over a series that is used up at %s, or has removed another one", c.Process, c.Life, c.At)
			case c.Note == serGiveUp && has && now.next < old.next && (!strings.HasPrefix(old.owner, owner) || old.epoch != c.Read):
				w.Failf("given: process %d.%d gave back what is %q's at %s", c.Process, c.Life, old.owner, c.At)
			}
		}
	}
}

// checkSeriesReserved: a key was reserved for the life of the process that hands
// it out, that had been committed before, and it was asked for after the last
// Drop.
func checkSeriesReserved(w *sim.World, moved []serMoved, i sim.Issue) {
	moved = slices.DeleteFunc(slices.Clone(moved), func(m serMoved) bool {
		return m.by.Process != i.Process || m.by.Life != i.Life || m.by.At > i.End
	})
	var dropped time.Duration
	for _, d := range w.Drops {
		if d.Process == i.Process && d.Life == i.Life && d.At < i.Begin {
			dropped = max(dropped, d.At)
		}
	}
	for _, key := range i.Keys {
		at := slices.IndexFunc(moved, func(m serMoved) bool { return m.has(key) })
		if at < 0 {
			w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it",
				i.Process, i.Life, key, i.End)
			return
		}
		// After a failover it may have been reserved once more.
		if newSerConfig(w).restarts == 0 && !slices.ContainsFunc(moved[at:], func(m serMoved) bool { return m.has(key) && m.by.Asked >= dropped }) {
			w.Failf("dropped: process %d.%d handed out key %d at %s, which it had when it dropped all at %s",
				i.Process, i.Life, key, i.End, dropped)
			return
		}
	}
}

// checkSeriesOne: an owner has one series at a time, and looks for it before it
// gets another one. What is still on its way then, of an attempt whose time was
// over, it does not find, and its lease runs out with nothing handed out of it.
func checkSeriesOne(w *sim.World, commits []*sim.Commit) {
	if w.Server.Lost() > 0 {
		return // an earlier state has other owners
	}
	type holding struct {
		row    string
		commit *sim.Commit
	}
	owners := map[string]holding{}
	looked := map[string]*sim.Commit{}
	for _, c := range commits {
		if owner, ok := strings.CutPrefix(c.Note, serLook+" "); ok {
			looked[owner] = c
		}
		for _, change := range c.Changes {
			if old, ok := serRowOf(change.Old); ok && owners[old.owner].row == change.Row {
				delete(owners, old.owner)
			}
			now, ok := serRowOf(change.New)
			if !ok || now.owner == "" {
				continue
			}
			other, look := owners[now.owner], looked[now.owner]
			late := func(got *sim.Commit) bool { return look != nil && got.Asked < look.Asked && look.At <= got.At }
			if other.row != "" && !late(other.commit) && !late(c) {
				w.Failf("one: %q has the series that begins at %s, and got another one at %s", now.owner, other.row, c.At)
				return
			}
			owners[now.owner] = holding{change.Row, c}
		}
	}
}
