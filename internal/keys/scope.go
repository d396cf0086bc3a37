package keys

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
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

// parentNumbers are numbers that are drawn within the parents of rows.
type parentNumbers interface {
	numbers

	// within returns the numbers of rows whose parents have these values, for the key
	// column of index i.
	within(ctx context.Context, g *Session, t *Table, i int, parents [][]driver.Value) ([]driver.Value, error)
}

// errNoParent is returned when numbers are asked for without rows, whose parents are
// then not known.
var errNoParent = anchor.New("scope-column", "its keys are numbered within other columns of the row, so that there are none without a row: let the INSERT be filled")

// errShared is returned for a state of several tables.
var errShared = anchor.New("scope-column", "a numbering within other columns belongs to one table: write its source in place, or give each table a source of its own")

// newScoped makes the counter of a numbering within parents. row is its own row, which
// gives no number. It says which column is numbered, and within which columns.
func (dr making) newScoped(ctx context.Context, row sequence.Sequence, c *counter) (*counter, error) {
	switch {
	case dr.key.Rule.Shared:
		return nil, errShared
	case c.unseen != nil:
		return nil, fmt.Errorf("%w: its keys are numbered within columns whose types are not known", c.unseen)
	case !dr.key.IsInteger():
		return nil, anchor.New("scope-column", "keys that are numbered within other columns are integers: make the column one, and leave layout out")
	}
	d := dr.db.AnyEngine().Dialect
	if err := dr.db.LockBeforeRead(ctx, dr.on, dr.table, dr.index); err != nil {
		return nil, err
	}
	found, err := dr.db.CatalogTable(ctx, dr.on, d, dr.table.Rule.Schema, dr.table.Rule.Name)
	if err != nil {
		return nil, err
	}
	s := &scoped{
		scopeRows: scopeRows{scope: scope.Scope{Name: row.Name, Column: row.Columns[0], Start: row.Start, Max: row.Max}},
		remedy:    dr.key.Rule.Source.OnBehind,
	}
	var types []string
	for _, rc := range dr.key.Rule.Scope {
		column, err := newScopeColumn(d, found, rc)
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column)
		s.scope.Within = append(s.scope.Within, column.found.Name)
		types = append(types, rc.Type)
	}
	if !dr.db.StatesOnConnection() {
		if s.scope.Latest, err = dr.db.stores.get(""); err != nil {
			return nil, err
		}
	}
	row.Start, row.Parameters = 1, s.scope.Parameters(types)
	row.Columns = slices.Clone(row.Columns)
	for at := range row.Columns {
		row.Columns[at].Unranked = true // its greatest key says nothing of a parent
	}
	if s.joined, err = dr.newJoined(ctx, row, false, s.scope.Column.Schema, c); err != nil {
		return nil, err
	}
	c.numbers = s
	return c, nil
}

// Parents returns the parent of each row: the values of the columns within which the
// policy numbers the rows.
type Parents func() ([][]driver.Value, error)

// GiveWithin gives keys for a statement on the connection, for the rows with these
// parents.
func (g *Conn) GiveWithin(ctx context.Context, t *Table, i, _ int, parents Parents) ([]driver.Value, error) {
	rows, err := parents()
	if err != nil {
		return nil, err
	}
	dr := g.DrawingFor(t, i)
	c, err := dr.Counter(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := c.numbers.(parentNumbers)
	if !ok {
		return nil, errNoParent // the policy has changed: there is no such counter
	}
	keys, err := s.within(ctx, &g.Session, t, i, rows)
	if unusable(err) {
		// The next statement may be about another table of that name.
		if err := c.forget(ctx); err != nil {
			return nil, err
		}
		dr.sources.found.drop(dr.key, c)
	}
	return keys, err
}

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

// SuspectWithin notes that a number of one of the rows' parents was in use, if the
// counter's numbers are within parents.
func (c *counter) SuspectWithin(rows [][]driver.Value) {
	if s, ok := c.numbers.(*scoped); ok {
		s.suspectWithin(rows)
	}
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
