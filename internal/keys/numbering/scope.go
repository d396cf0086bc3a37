package numbering

import (
	"context"
	"database/sql/driver"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// Scoped numbers the rows of a table separately within each parent, as the lines of
// each order. There may be any number of parents, so it remembers only those in doubt,
// and the last numbers of some.
type Scoped struct {
	ScopeRows
	Joined *JoinedRow // the row of the stored counter itself, which gives no number

	Remedy keysource.Remedy // what to do if the row of a parent (such as an order) is below the keys of its rows
	doubts doubtedParents
	Proven relation.ProvenRows // the last numbers of the parents' rows that have committed
}

// ScopeRows finds the parents of rows by the values of their columns.
type ScopeRows struct {
	Scope   scope.Scope
	Columns []ScopeColumn
}

// ErrNoParent is returned when numbers are drawn without rows, so that the parents are
// not known.
var ErrNoParent = anchor.New("scope-column", "its keys are numbered within other columns of the row, so that there are none without a row: let the INSERT be filled")

// ErrShared is returned if a numbering within parents has a stored counter that serves
// several tables.
var ErrShared = anchor.New("scope-column", "a numbering within other columns belongs to one table: write its source in place, or give each table a source of its own")

// parent is one parent of rows of a statement, such as an order whose lines are
// inserted.
type parent struct {
	row    string // the name of the parent's row in the store
	values []any
	places []int // the indexes of the parent's rows in the statement
}

// Within implements [ParentNumbers].
func (s *Scoped) Within(ctx context.Context, g *relation.Session, t *table.Table, i int, rows [][]driver.Value) ([]driver.Value, error) {
	parents, err := s.parentsOf(rows)
	if err != nil {
		return nil, err
	}
	if g.Tx == session.Outside {
		return nil, errOutside
	}
	if err := s.Joined.Open(ctx, g); err != nil {
		return nil, err
	}
	return numbered(parents, len(rows), func(p *parent) (int64, error) { return s.reserveFor(ctx, g, t, i, p) })
}

// numbered returns the numbers of n rows. For each parent (such as an order), reserve
// returns the first of as many numbers as the parent has rows.
func numbered(parents []*parent, n int, reserve func(*parent) (int64, error)) ([]driver.Value, error) {
	keys := make([]driver.Value, n)
	for _, p := range parents {
		first, err := reserve(p)
		if err != nil {
			return nil, err
		}
		for n, place := range p.places {
			keys[place] = first + int64(n)
		}
	}
	return keys, nil
}

// errOutside is returned when a number within a parent (such as an order) is drawn
// outside of a transaction: it would not be rolled back with its row.
var errOutside = anchor.New("scope-column", "keys that are numbered within other columns are drawn in the transaction of their rows, and none is open: begin one")

// parentsOf returns the parents of the rows, in the order in which every statement
// locks them.
func (s *ScopeRows) parentsOf(rows [][]driver.Value) ([]*parent, error) {
	byRow := map[string]*parent{}
	var all []*parent
	for place, row := range rows {
		values := make([]any, len(row))
		for i, v := range row {
			var err error
			if values[i], err = s.Columns[i].Normal(v); err != nil {
				return nil, err
			}
		}
		name := s.Scope.RowFor(values)
		p := byRow[name]
		if p == nil {
			p = &parent{row: name, values: values}
			byRow[name] = p
			all = append(all, p)
		}
		p.places = append(p.places, place)
	}
	slices.SortFunc(all, func(a, b *parent) int { return strings.Compare(a.row, b.row) })
	return all, nil
}

// Reserve fails with ErrNoParent, since it is not given rows.
func (s *ScopeRows) Reserve(context.Context, *relation.Session, int64) (int64, error) {
	return 0, ErrNoParent
}

// Suspect does nothing: a number that was found in use belongs to one parent, see
// Scoped.SuspectWithin.
func (s *ScopeRows) Suspect() {}

// Close implements [Numbers].
func (s *ScopeRows) Close(context.Context) error { return nil }

// reserveFor reserves as many numbers of a parent (such as an order) as it has rows,
// and returns the first.
func (s *Scoped) reserveFor(ctx context.Context, g *relation.Session, t *table.Table, i int, p *parent) (first int64, err error) {
	defer func() {
		relation.DoubtRights(g, err)
		err = relation.NoteGone(g, err, s.Joined.Ensures)
	}()
	n := int64(len(p.places))
	st, _, err := g.States(ctx, true)
	if err == nil {
		err = relation.MayReserve(ctx, g)
	}
	if err != nil {
		return 0, err
	}
	g.NoteJoinedDraw()
	rows := scope.New(st, &s.Scope)
	began := time.Now()
	if !s.doubts.has(p.row) {
		first, err = s.reserveProven(ctx, g, rows, p)
		s.Joined.draws.note(began, n, first, err)
		return first, err
	}
	first, behind, err := rows.ReserveAbove(ctx, p.values, n, s.Remedy)
	s.Joined.draws.note(began, n, first, err)
	switch {
	case behind:
		// The numbers are compared again next time: a rollback may undo what has raised the
		// row.
		relation.SiteOf(g.Tables, g, t, i).NoteSuspect(ctx)
	case err == nil && s.Remedy != keysource.RemedyWarn:
		s.doubts.remove(p.row)
	}
	return first, err
}

// reserveProven reserves the numbers of a parent (such as an order), and compares them
// with the numbers of its row that have committed, as JoinedRow.back does.
func (s *Scoped) reserveProven(ctx context.Context, g *relation.Session, rows *scope.Rows, p *parent) (int64, error) {
	n := int64(len(p.places))
	known := s.Proven.Of(p.row)
	got, err := rows.ReserveRow(ctx, p.values, n, known.Next)
	if err == nil && got.First < known.Next {
		got, err = s.back(ctx, g, rows, p, known, got)
	}
	if err == nil {
		g.Drawn.Note(g, &s.Proven, p.row, relation.ProvenRow{Next: got.First + n, Incarnation: got.Server})
	}
	return got.First, err
}

// back decides, as JoinedRow.back does, what to do with numbers of a parent's row that are
// below numbers already committed.
func (s *Scoped) back(ctx context.Context, g *relation.Session, rows *scope.Rows, p *parent, known relation.ProvenRow, got keysource.Reservation) (keysource.Reservation, error) {
	greatest, err := rows.Greatest(ctx, p.values)
	if err != nil {
		return got, err
	}
	inUse := greatest + min(1, math.MaxInt64-greatest)
	if got.Server == known.Incarnation {
		inUse = max(inUse, known.Next)
	}
	switch {
	case got.First >= inUse, relation.IsOfCluster(ctx, g):
		return got, nil
	case s.Joined.OnBack != keysource.RemedyAdvance:
		return got, s.Scope.Back()
	}
	if err := rows.Raise(ctx, p.values, inUse); err != nil {
		return got, err
	}
	again, err := rows.ReserveRow(ctx, p.values, int64(len(p.places)), 0)
	if err == nil && again.First < inUse {
		err = s.Scope.Back()
	}
	return again, err
}

// SuspectWithin makes the next draw for the parent (such as an order) of each of these
// rows compare its number with the greatest number within that parent, since a number
// of one of them was in use.
func (s *Scoped) SuspectWithin(rows [][]driver.Value) {
	parents, err := s.parentsOf(rows)
	if err != nil || s.Remedy == keysource.RemedyWarn {
		return
	}
	for _, p := range parents {
		s.doubts.add(p.row)
	}
}

// maxDoubts is the greatest number of parents in doubt (a number of theirs was found in
// use) that are remembered. For each one that is forgotten, one more INSERT may fail.
const maxDoubts = 1000

// doubtedParents remembers the rows of parents in which a number was found in use.
type doubtedParents struct {
	some atomic.Bool // the map is not empty

	mu   sync.Mutex
	rows map[string]bool
}

func (d *doubtedParents) has(row string) bool {
	if !d.some.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[row]
}

func (d *doubtedParents) add(row string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for old := range d.rows {
		if len(d.rows) < maxDoubts {
			break
		}
		delete(d.rows, old)
	}
	if d.rows == nil {
		d.rows = map[string]bool{}
	}
	d.rows[row] = true
	d.some.Store(true)
}

func (d *doubtedParents) remove(row string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rows, row)
	d.some.Store(len(d.rows) > 0)
}
