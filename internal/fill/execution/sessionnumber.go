package execution

import (
	"cmp"
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// The engine remembers, for each session, the number that it has given last: lastval(),
// currval and similar functions return it. The engine does not know a number that
// keyfill has made, and returns the number of another row. Before such a read is sent,
// keyfill returns an error if all of this is true: the last INSERT before it on this
// connection got an integer from keyfill, the column has a sequence of its own, from
// which the engine would have drawn, and no statement sent since may have drawn from
// another one. A text that keyfill does not understand counts as one that may have.

// sessionNumber is a number that the engine would remember if it had made the number
// itself.
type sessionNumber struct {
	table   *table.Table
	key     int
	counter *table.OwnCounter
	Pooled  bool // the connection was given back to its pool since
}

// watchesNumbers reports whether reads of the engine's last number, by lastval() and
// similar functions, are checked: the engine has such functions, and the policy does
// not allow every read.
func (db *Database) watchesNumbers() bool {
	family := db.Dialect().Family
	return (family == dialect.FamilyPostgreSQL || family == dialect.FamilyMySQL) && db.Config().SessionReads != policy.SessionReadsPass
}

// SessionNumbers records the number that the engine would remember for a connection.
type SessionNumbers struct {
	conn *Conn

	// Last is the number of the last INSERT that the engine would remember; nil if there
	// is none, as after most statements.
	Last *sessionNumber
	room sessionNumber

	unseen bool   // a statement is prepared whose executions are not seen and may draw a number
	Direct string // the text that the driver wants to be prepared, although it is executed once
}

// Check returns an error if a text that is about to be executed asks the session for
// Last.
func (s *SessionNumbers) Check(ctx context.Context, query string) error {
	db := s.conn.DB
	if effects.EndsSession(db.Dialect(), query) {
		s.Last = nil
		return nil
	}
	for _, step := range effects.SessionSteps(db.Dialect(), query) {
		if err := db.judgeReads(ctx, s.Last, step.Reads); err != nil {
			return err
		}
		if !step.Keeps {
			s.Last = nil
			break
		}
	}
	return nil
}

// judgeReads returns an error for the first of reads that asks for the number n, which
// keyfill has made.
func (db *Database) judgeReads(ctx context.Context, n *sessionNumber, reads []effects.SessionRead) error {
	i := slices.IndexFunc(reads, n.isAsked)
	if i < 0 {
		return nil
	}
	column := n.table.KeyColumns[n.key].Name
	if !n.Pooled && db.Config().SessionReads != policy.SessionReadsWarn {
		return n.table.NewError(n.table.Table, column, reads[i].Offset, anchor.Errorf("session-read",
			"%s knows no key of keyfill, and gives another row's: take it from RETURNING or keyfill.Record, or say session_reads: warn", reads[i].Text))
	}
	if count := db.Tally.SessionReads.Add(1); isPowerOfTen(count) {
		db.Log.Write(ctx, report.MessageSessionRead, n.table.Table, column, reads[i].Text, count)
	}
	return nil
}

// isAsked reports whether a read asks for the number n.
func (n *sessionNumber) isAsked(r effects.SessionRead) bool {
	switch {
	case r.Unknown:
		return false
	case r.Of == nil:
		return n.counter.Alone
	case r.Table:
		return isName(r.Of, n.counter.Table) && (r.Column == "" || r.Column == n.counter.Column)
	}
	return isName(r.Of, n.counter.Sequence)
}

// isName reports whether name means full; name may lack leading parts, such as the
// schema.
func isName(name, full []string) bool {
	n := min(len(name), len(full))
	return n > 0 && slices.Equal(name[len(name)-n:], full[len(full)-n:])
}

// Note records that an INSERT has got its keys and was sent.
func (s *SessionNumbers) Note(p *plans.Plan, f *table.Facts) {
	s.Last = nil
	if !s.unseen && p.Statements == 1 && s.conn.DB.watchesNumbers() && !s.conn.Unwrapped {
		n, remembers := numberOf(p, 0, f)
		// A transaction that has locked the sequence draws from it on this connection, so the
		// engine knows the number.
		within := remembers && n.table.KeyColumns[n.key].Rule.Source.Kind == policy.KindNative && s.conn.Altered.On
		if remembers && !within && p.IsQuiet() {
			s.room = n
			s.Last = &s.room
		}
	}
}

// numberOf returns the number that an INSERT of a plan gives a row, and whether the
// engine would remember it.
func numberOf(p *plans.Plan, insert int, f *table.Facts) (n sessionNumber, remembers bool) {
	in := &p.Inserts[insert]
	if f == nil || in.Nested || in.Explained || in.Query != nil || in.Upsert.Conflict == plans.ConflictUpdate || !in.Counts() {
		return n, false
	}
	t := table.Of(in)
	for i := range t.KeyColumns {
		if t.KeyColumns[i].IsInteger() && f.Columns[i].Counter != nil && draws(p, insert, i) {
			return sessionNumber{table: t, key: i, counter: f.Columns[i].Counter}, true
		}
	}
	return n, false
}

// draws reports whether a key of an INSERT is drawn.
func draws(p *plans.Plan, insert, key int) bool {
	if len(p.Inserts) == 1 {
		return slices.Contains(p.Draws, plans.Draw{Insert: insert, Key: key})
	}
	return slices.ContainsFunc(p.SlotsOf(insert), func(slot int32) bool { return int(p.Changes.Slots[slot].Key) == key })
}

// CheckSteps returns an error if a text of several statements asks for a number that an
// earlier INSERT of the text gets.
func (s *SessionNumbers) CheckSteps(ctx context.Context, p *plans.Plan, query string) error {
	if p.Statements == 1 || !s.conn.DB.watchesNumbers() {
		return nil
	}
	var n sessionNumber
	marked := false
	steps := effects.SessionSteps(p.Dialect, query)
	last := lastInserts(p, steps)
	for i, step := range steps {
		if marked {
			if err := s.conn.DB.judgeReads(ctx, &n, step.Reads); err != nil {
				return err
			}
		}
		if step.Keeps {
			continue
		}
		if marked = step.Quiet && last[i] >= 0; marked {
			n, marked = numberOf(p, last[i], FactsOf(s.conn, table.Of(&p.Inserts[last[i]])))
		}
	}
	return nil
}

// lastInserts returns the index of the last INSERT of each step of a plan's text, -1 for a
// step without any.
func lastInserts(p *plans.Plan, steps []effects.SessionStep) []int {
	last := slices.Repeat([]int{-1}, len(steps))
	for i := range p.Inserts {
		at := p.Inserts[i].Offset
		step, found := slices.BinarySearchFunc(steps, at, func(s effects.SessionStep, at int) int { return cmp.Compare(s.Start, at) })
		if !found {
			step--
		}
		if step >= 0 && at < steps[step].End {
			last[step] = i
		}
	}
	return last
}

// Prepared records that a text was prepared and is sent unchanged: its executions are
// not seen.
func (s *SessionNumbers) Prepared(query string) {
	if s.unseen || s.Direct == query || !s.conn.DB.watchesNumbers() {
		return
	}
	s.unseen = slices.ContainsFunc(effects.SessionSteps(s.conn.DB.Dialect(), query), func(s effects.SessionStep) bool { return !s.Keeps })
	if s.unseen {
		s.Last = nil
	}
}
