package keys

import (
	"context"
	"database/sql/driver"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// scoped numbers the rows of a table within each parent. It keeps nothing of
// the parents, since their number is not bounded, except which are in doubt, and how far
// some of them have come.
type scoped struct {
	scopeRows
	joined *joinedRow // its own row, which gives no number

	remedy keysource.Remedy // for a parent that others have passed
	doubts doubtedParents
	proven provenRows // the parents' rows
}

// scopeRows names the rows of the parents.
type scopeRows struct {
	scope   scope.Scope
	columns []scopeColumn
}

// errNoParent is returned when numbers are asked for without rows, whose parents are
// then not known.
var errNoParent = anchor.New("scope-column", "its keys are numbered within other columns of the row, so that there are none without a row: let the INSERT be filled")

// errShared is returned for a state of several tables.
var errShared = anchor.New("scope-column", "a numbering within other columns belongs to one table: write its source in place, or give each table a source of its own")

// parent is one parent of the rows of a statement.
type parent struct {
	row    string // the name of its row in the store
	values []any
	places []int // the indexes of its rows in the statement
}

func (s *scoped) within(ctx context.Context, g *Session, t *Table, i int, rows [][]driver.Value) ([]driver.Value, error) {
	parents, err := s.parentsOf(rows)
	if err != nil {
		return nil, err
	}
	if g.Tx == session.Outside {
		return nil, errOutside
	}
	if err := s.joined.open(ctx, g); err != nil {
		return nil, err
	}
	return numbered(parents, len(rows), func(p *parent) (int64, error) { return s.reserveFor(ctx, g, t, i, p) })
}

// numbered returns the numbers of n rows. reserve returns the first of as many numbers
// of a parent as it has rows.
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

// errOutside is returned for a number of a parent outside of a transaction: it would not
// be rolled back with its row.
var errOutside = anchor.New("scope-column", "keys that are numbered within other columns are drawn in the transaction of their rows, and none is open: begin one")

// parentsOf returns the parents of the rows, in the order in which every statement
// locks them.
func (s *scopeRows) parentsOf(rows [][]driver.Value) ([]*parent, error) {
	byRow := map[string]*parent{}
	var all []*parent
	for place, row := range rows {
		values := make([]any, len(row))
		for i, v := range row {
			var err error
			if values[i], err = s.columns[i].normal(v); err != nil {
				return nil, err
			}
		}
		name := s.scope.RowFor(values)
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

// reserve fails with errNoParent: there are no rows.
func (s *scopeRows) reserve(context.Context, *Session, int64) (int64, error) { return 0, errNoParent }

// suspect does nothing: a number that was found in use is one parent's, see
// suspectWithin.
func (s *scopeRows) suspect() {}

func (s *scopeRows) close(context.Context) error { return nil }

// reserveFor returns the first of as many numbers of a parent as it has rows.
func (s *scoped) reserveFor(ctx context.Context, g *Session, t *Table, i int, p *parent) (first int64, err error) {
	defer func() {
		doubtRights(g, err)
		err = noteGone(g, err, s.joined.ensures)
	}()
	n := int64(len(p.places))
	st, _, err := g.states(ctx, true)
	if err == nil {
		err = mayReserve(ctx, g)
	}
	if err != nil {
		return 0, err
	}
	g.noteJoinedDraw()
	rows := scope.New(st, &s.scope)
	if !s.doubts.has(p.row) {
		return s.joined.draws.draw(n, func() (int64, error) { return s.reserveProven(ctx, g, rows, p) })
	}
	behind := false
	first, err = s.joined.draws.draw(n, func() (first int64, err error) {
		first, behind, err = rows.ReserveAbove(ctx, p.values, n, s.remedy)
		return first, err
	})
	switch {
	case behind:
		// The numbering is compared again: what has raised it may be rolled back.
		siteOf(g.tables, g, t, i).noteSuspect(ctx)
	case err == nil && s.remedy != keysource.RemedyWarn:
		s.doubts.remove(p.row)
	}
	return first, err
}

// reserveProven reserves the numbers of a parent, and compares them with what is proven of
// its row, as joinedRow.back does.
func (s *scoped) reserveProven(ctx context.Context, g *Session, rows *scope.Rows, p *parent) (int64, error) {
	n := int64(len(p.places))
	known := s.proven.of(p.row)
	got, err := rows.ReserveRow(ctx, p.values, n, known.next)
	if err == nil && got.First < known.next {
		got, err = s.back(ctx, g, rows, p, known, got)
	}
	if err == nil {
		g.Drawn.note(g, &s.proven, p.row, provenRow{next: got.First + n, incarnation: got.Server})
	}
	return got.First, err
}

// back is joinedRow.back for the row of a parent.
func (s *scoped) back(ctx context.Context, g *Session, rows *scope.Rows, p *parent, known provenRow, got keysource.Reservation) (keysource.Reservation, error) {
	greatest, err := rows.Greatest(ctx, p.values)
	if err != nil {
		return got, err
	}
	inUse := greatest + min(1, math.MaxInt64-greatest)
	if got.Server == known.incarnation {
		inUse = max(inUse, known.next)
	}
	switch {
	case got.First >= inUse, isOfCluster(ctx, g):
		return got, nil
	case s.joined.onBack != keysource.RemedyAdvance:
		return got, s.scope.Back()
	}
	if err := rows.Raise(ctx, p.values, inUse); err != nil {
		return got, err
	}
	again, err := rows.ReserveRow(ctx, p.values, int64(len(p.places)), 0)
	if err == nil && again.First < inUse {
		err = s.scope.Back()
	}
	return again, err
}

// suspectWithin makes the next draw for each of the rows' parents compare with the
// greatest number within that parent, since a number of one of them was in use.
func (s *scoped) suspectWithin(rows [][]driver.Value) {
	parents, err := s.parentsOf(rows)
	if err != nil || s.remedy == keysource.RemedyWarn {
		return
	}
	for _, p := range parents {
		s.doubts.add(p.row)
	}
}

// maxDoubts bounds the parents that are remembered. Each one that is forgotten may make
// one more INSERT fail.
const maxDoubts = 1000

// doubtedParents are the rows of parents in which a number was found in use.
type doubtedParents struct {
	some atomic.Bool // there are any

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
