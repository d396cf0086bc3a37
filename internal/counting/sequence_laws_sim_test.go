package counting_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/keysource"
)

// excuseLost: a key may be handed out twice if the commit that reserved it was lost; the
// store then gives it again, and the owner of the lost block cannot know before its next
// fetch.
func excuseLost(w *sim.World, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if c.Lost && mine && reserves(c, key) {
			return true
		}
	}
	return false
}

func reserves(c *sim.Commit, key int64) bool {
	from, to := seqReserved(c)
	return from <= key && key < to
}

// seqReserved returns what a commit has reserved, from from to to-1; nothing if from is 0.
func seqReserved(c *sim.Commit) (from, to int64) {
	if c.Note != seqReserve {
		return 0, 0
	}
	for _, change := range c.Changes {
		if old := simdb.Of(seqTable, change.Old); old != nil {
			return old.Int("next_value"), nextOf(change)
		}
	}
	return 0, 0
}

// nextOf returns where the row of a sequence stands after a change, 0 for another row's.
func nextOf(change sim.Change) int64 { return simdb.Of(seqTable, change.New).Int("next_value") }

// allowSequence: an error needs its cause.
func allowSequence(w *sim.World, err error) bool {
	c := newSeqConfig(w)
	lost := w.Server.Lost() > 0 || w.Server.Switches() > 0
	switch {
	case errors.Is(err, keysource.ErrStoreBack):
		return lost && c.back != keysource.RemedyAdvance
	case errors.Is(err, keysource.ErrStoreBehind):
		return lost && c.behind != keysource.RemedyAdvance
	case errors.Is(err, keysource.ErrStoreState):
		return lost && c.opens // the row has gone, and once more as soon as it was made again
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request was over, and perhaps the time of an attempt
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairSequence sets the store above all that was ever reserved, if it has
// gone back and the sequences do not advance it.
func repairSequence(w *sim.World) {
	if newSeqConfig(w).back == keysource.RemedyAdvance || w.Server.Lost()+w.Server.Switches() == 0 {
		return
	}
	raiseSequence(w, max(w.Server.MaxKey()+1, reservedTo(w)))
}

// reservedTo returns the end of all that the store has ever reserved.
func reservedTo(w *sim.World) int64 {
	to := int64(1)
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			to = max(to, nextOf(change))
		}
	}
	return to
}

// raiseSequence sets the row to at least to, as an operator does.
func raiseSequence(w *sim.World, to int64) {
	w.Server.Edit(func(tx *sim.Tx) {
		for _, row := range simdb.Rows(tx, seqTable) {
			raiseRow(tx, row, "next_value", to)
		}
	})
}

type life struct{ process, number int }

// checkSequence checks what only sequences promise.
func checkSequence(w *sim.World) { checkNumbers(w, w.Issues, newSeqConfig(w)) }

// checkNumbers is checkSequence for issues of numbers, by sequences of a
// configuration.
func checkNumbers(w *sim.World, issues []sim.Issue, config seqConfig) {
	lives := map[life]*simLife{}
	of := func(process, number int) *simLife {
		l := life{process, number}
		if lives[l] == nil {
			lives[l] = new(simLife)
		}
		return lives[l]
	}
	for _, c := range w.Server.Commits() {
		l := of(c.Process, c.Life)
		l.commits = append(l.commits, c)
	}
	for _, d := range w.Drops {
		l := of(d.Process, d.Life)
		l.drops = append(l.drops, d)
	}
	for _, i := range issues {
		l := of(i.Process, i.Life)
		l.checkReserved(w, i)
		if config.compares {
			l.checkCompared(w, i)
		}
		if len(w.Broken()) > 0 {
			return
		}
	}
	for _, f := range w.Follows {
		checkFollowed(w, f)
	}
	if config.block == 1 && w.Server.Lost() == 0 {
		w.CheckOrdered(issues) // of all processes
	}
}

// simLife is what is known of one life of a process, in order of time.
type simLife struct {
	commits []*sim.Commit
	drops   []sim.Drop
	looks   []*sim.Commit // at the table, on a session
	server  string        // that gave the last key handed out
}

// reservation returns the number of the last commit before the end of i that
// reserved a key of it; -1 if there is none.
func (l *simLife) reservation(i sim.Issue, key int64) int {
	for n, c := range slices.Backward(l.commits) {
		if c.At <= i.End && reserves(c, key) {
			return n
		}
	}
	return -1
}

// checkReserved: a key was reserved for the life of the process that hands it
// out, that had been committed before, and it was asked for after the last
// Drop.
func (l *simLife) checkReserved(w *sim.World, i sim.Issue) {
	var dropped time.Duration
	for _, d := range l.drops {
		if d.At < i.Begin {
			dropped = d.At
		}
	}
	for _, key := range i.Keys {
		switch n := l.reservation(i, key); {
		case n < 0:
			w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it",
				i.Process, i.Life, key, i.End)
			return
		case l.commits[n].Asked < dropped:
			w.Failf("dropped: process %d.%d handed out key %d at %s, which it had when it dropped all at %s",
				i.Process, i.Life, key, i.End, dropped)
			return
		}
	}
}

// checkCompared: before a life hands out its first key, and the first one that
// another server has given than the key before, it has looked at the table, at
// that server's if it is another one.
func (l *simLife) checkCompared(w *sim.World, i sim.Issue) {
	n := l.reservation(i, i.Keys[0])
	if n < 0 || l.commits[n].Server == l.server {
		return
	}
	server, known := l.commits[n].Server, l.server != ""
	l.server = server
	if !slices.ContainsFunc(l.commits[:n], func(c *sim.Commit) bool {
		return c.Note == seqMaxKey && c.Read < i.Keys[0] && (c.Server == server || !known)
	}) {
		w.Failf("compared: process %d.%d handed out key %d of %s at %s without looking at the table",
			i.Process, i.Life, i.Keys[0], server, i.End)
	}
}

// checkFollowed: after an Advance no lower key is handed out by this process,
// and no lower one reserved by any, unless the store goes back.
func checkFollowed(w *sim.World, f sim.Follow) {
	for _, i := range w.Issues {
		if i.Process == f.Process && i.Life == f.Life && i.Begin > f.End && i.Keys[0] < f.To {
			w.Failf("followed: process %d.%d handed out key %d at %s after it had advanced to %d",
				i.Process, i.Life, i.Keys[0], i.End, f.To)
		}
	}
	if f.Err != nil || w.Server.Lost() > 0 {
		return
	}
	for _, c := range w.Server.Commits() {
		if from, _ := seqReserved(c); from > 0 && c.Asked > f.End && from < f.To {
			w.Failf("followed: process %d.%d was given %d at %s after the store had advanced to %d",
				c.Process, c.Life, from, c.At, f.To)
		}
	}
}
