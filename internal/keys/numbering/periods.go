package numbering

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"sync"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// Numbers that begin again with each period are drawn as numbers within a parent are: the
// period is one more value that distinguishes parents.

// withinOwn does what Within does, in a transaction of keyfill's own: on a connection of its
// own or, on SQLite, on the connection of g. There a statement inside of a transaction of the
// application draws its numbers in that transaction.
func (s *Scoped) withinOwn(ctx context.Context, g *relation.Session, t *table.Table, i int, rows [][]driver.Value) (keys []driver.Value, err error) {
	if g == nil {
		return nil, ErrNoParent
	}
	site := relation.SiteOf(g.Tables, g, t, i)
	draw := func(st *store.Store, note noteDraw) error {
		if err = s.Joined.Open(ctx, g); err == nil {
			keys, err = s.numbered(ctx, g, t, i, rows, func(p *parent, q *scope.Scope) (drawn, error) {
				return s.reserveFrom(ctx, g, site, scope.New(st, q), p, note)
			})
		}
		return err
	}
	if s.Joined.home != nil {
		err = draw(s.Joined.home, s.last.note)
		return keys, relation.NoteGone(g, err, s.Joined.Ensures)
	}
	g.EnsureStates(ctx)
	if g.Tx == session.Outside {
		var noted []func()
		err = Committing{Row: &ConnRow{Dialect: s.Joined.dialect}, On: g}.Transact(ctx, func(st *store.Store) error {
			return draw(st, func(parent string, d lastDraw) { noted = append(noted, func() { s.last.note(parent, d) }) })
		})
		if err == nil {
			for _, note := range noted {
				note()
			}
		}
		if err != ErrInside {
			return keys, relation.NoteGone(g, err, s.Joined.Ensures)
		}
	}
	err = draw(store.Within(s.Joined.dialect, g.Own()), func(string, lastDraw) {}) // a rollback undoes the draw
	return keys, relation.NoteGone(g, err, s.Joined.Ensures)
}

// noteDraw records a draw for a parent that has committed.
type noteDraw func(parent string, d lastDraw)

// reservePeriod reserves the numbers of a parent in the period of its rows, and compares them
// with the numbers of the row that have committed, as JoinedRow.back does. doubted reports that
// a number of the parent was found in use. note is nil for numbers of the statement's
// transaction.
func (s *Scoped) reservePeriod(ctx context.Context, g *relation.Session, rows *scope.Rows, p *parent, doubted bool, note noteDraw) (got drawn, behind bool, err error) {
	n := int64(len(p.places))
	var taken scope.Taken
	known := s.last.of(p.row)
	if doubted {
		taken, behind, err = rows.ReservePeriodAbove(ctx, p.values, p.period, n, s.Remedy)
	} else {
		taken, err = rows.ReservePeriod(ctx, p.values, p.period, n)
	}
	if err != nil {
		return got, behind, err
	}
	before := relation.ProvenRow{}
	switch {
	case note == nil:
		// The row is locked, so no later draw has committed.
		before = s.Proven.Of(taken.Row)
	case known.row == taken.Row:
		before = known.ProvenRow
	}
	if taken.First < before.Next {
		if taken, err = s.periodBack(ctx, g, rows, p, before, taken); err != nil {
			return got, behind, err
		}
	}
	now := relation.ProvenRow{Next: taken.First + n, Incarnation: taken.Server}
	if note != nil {
		note(p.row, lastDraw{now, taken.Row})
	} else {
		g.Drawn.Note(g, &s.Proven, taken.Row, now)
	}
	return drawn{taken.First, taken.Period, taken.Template}, behind, nil
}

// periodBack decides, as JoinedRow.back does, what to do with numbers of a period's row that
// are below numbers already committed.
func (s *Scoped) periodBack(ctx context.Context, g *relation.Session, rows *scope.Rows, p *parent, known relation.ProvenRow, got scope.Taken) (scope.Taken, error) {
	inUse := int64(1)
	if s.Scope.Periods.Greatest != nil {
		greatest, err := rows.GreatestInPeriod(ctx, p.values, got.Period)
		switch {
		case errors.Is(err, store.ErrTextsUnread):
			inUse = known.Next // the texts do not say which numbers are free
		case err != nil:
			return got, err
		default:
			inUse = greatest + min(1, math.MaxInt64-greatest)
		}
	}
	if got.Server == known.Incarnation {
		inUse = max(inUse, known.Next)
	}
	switch {
	case got.First >= inUse, g != nil && relation.IsOfCluster(ctx, g):
		return got, nil
	case s.Joined.OnBack != keysource.RemedyAdvance:
		return got, rows.Back()
	}
	if err := rows.RaisePeriod(ctx, p.values, got.Period, inUse); err != nil {
		return got, err
	}
	again, err := rows.ReservePeriod(ctx, p.values, &got.Period, int64(len(p.places)))
	if err == nil && again.First < inUse {
		err = rows.Back()
	}
	return again, err
}

// lastDraw is a row as the last draw for a parent has left it, and the row's name.
type lastDraw struct {
	relation.ProvenRow
	row string
}

// lastDraws holds the last draws of parents whose numbers are drawn in transactions of their
// own, by the names of the parents' rows. It is safe for concurrent use.
type lastDraws struct {
	mu  sync.Mutex
	all map[string]lastDraw
}

// maxLastDraws is the greatest number of parents that are remembered. The row of a parent that
// is not remembered is not compared.
const maxLastDraws = 4096

// of returns the last draw for a parent. Call it before the row is read: then the draw was
// committed before.
func (l *lastDraws) of(parent string) lastDraw {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[parent]
}

// note records a draw. Two draws may be noted in another order than they changed the row.
func (l *lastDraws) note(parent string, d lastDraw) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.all[parent]
	if found && known.row == d.row && known.Incarnation == d.Incarnation && known.Next >= d.Next {
		return
	}
	if l.all == nil {
		l.all = map[string]lastDraw{}
	}
	for old := range l.all {
		if found || len(l.all) < maxLastDraws {
			break
		}
		delete(l.all, old)
	}
	l.all[parent] = d
}
