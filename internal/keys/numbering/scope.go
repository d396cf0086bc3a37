package numbering

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// Scoped numbers the rows of a table separately within each parent, as the lines of
// each order, or in each period, as the invoices of a year. There may be any number of
// parents, so it remembers only those in doubt, and the last numbers of some.
type Scoped struct {
	*ScopeRows
	Joined *JoinedRow // the row of the stored counter itself, which gives no number

	// Autonomous reports that numbers are drawn in a transaction of their own, and not in the
	// transaction of the statement.
	Autonomous bool

	Remedy keysource.Remedy // what to do if the row of a parent (such as an order) is below the keys of its rows
	doubts doubtedParents
	Proven relation.ProvenRows // the last numbers of the parents' rows that have committed
	last   lastDraws           // the last numbers of parents; for Autonomous alone
}

// ScopeRows finds the parents of rows by the values of their columns.
type ScopeRows struct {
	Scope   scope.Scope
	Columns []ScopeColumn
	Date    *DateColumn // whose date says to which period a row belongs; nil if the clock does, or without periods

	Length int             // the greatest length of a text in the key column; 0 if it has no bound
	Holds  func(rune) bool // whether the key column holds a character; nil if it holds all

	forms forms
	told  sync.Map // the names of the periods for which the log has report.MessageOtherFormat
}

// ErrNoParent is returned when numbers are drawn without rows, so that the parents are
// not known.
var ErrNoParent = anchor.New("scope-column", "the table's keys are numbered within other columns of the row, so no key exists without its row: let keyfill fill the INSERT")

// ErrShared is returned if a numbering within parents has a stored counter that serves
// several tables.
var ErrShared = anchor.New("scope-column", "a numbering within other columns belongs to one table: write its source in place, or give each table a source of its own")

// parent is one parent of rows of a statement, such as an order whose lines are
// inserted.
type parent struct {
	row    string // the name of the parent's row in the store; without a period that the clock decides
	values []any
	period *calendar.Period // of the rows' date; nil if the clock decides, or without periods
	places []int            // the indexes of the parent's rows in the statement
}

// Within implements [ParentNumbers].
func (s *Scoped) Within(ctx context.Context, g *relation.Session, t *table.Table, i int, rows [][]driver.Value) ([]driver.Value, error) {
	if s.Autonomous {
		return s.withinOwn(ctx, g, t, i, rows)
	}
	if g == nil {
		return nil, ErrNoParent
	}
	if g.Tx == session.Outside {
		return nil, errOutside
	}
	if err := s.Joined.Open(ctx, g); err != nil {
		return nil, err
	}
	return s.numbered(ctx, g, t, i, rows, func(p *parent, q *scope.Scope) (drawn, error) { return s.reserveFor(ctx, g, t, i, p, q) })
}

// drawn are the numbers that were reserved for a parent.
type drawn struct {
	first    int64
	period   calendar.Period // of the numbers; the zero Period without periods
	template string          // of the period's texts; empty means the policy's
}

// numbered returns the keys of rows. For each parent (such as an order), reserve returns as
// many numbers as the parent has rows; the scope q has the greatest number that the parent can
// have. What no text can show is an error before a number is reserved.
func (s *ScopeRows) numbered(ctx context.Context, g *relation.Session, t *table.Table, i int, rows [][]driver.Value, reserve func(p *parent, q *scope.Scope) (drawn, error)) ([]driver.Value, error) {
	parents, err := s.parentsOf(ctx, g, rows)
	if err != nil {
		return nil, err
	}
	w, err := s.writerOf(ctx, g, t, i)
	if err != nil {
		return nil, err
	}
	scopes := make([]parentScope, len(parents))
	for n, p := range parents {
		if scopes[n], err = s.scopeFor(p, &w, ""); err != nil {
			return nil, err
		}
	}
	keys := make([]driver.Value, len(rows))
	for n, p := range parents {
		got, err := reserve(p, scopes[n].Scope)
		var other *scope.OtherTemplate
		if errors.As(err, &other) {
			// The policy's template is newer than the period, and has fewer digits.
			if scopes[n], err = s.scopeFor(p, &w, other.Template); err == nil {
				got, err = reserve(p, scopes[n].Scope)
			}
		}
		if err != nil {
			return nil, err
		}
		if w.texts != nil && got.template != "" && got.template != w.texts.String() {
			if _, told := s.told.LoadOrStore(got.period.Name, true); !told && g != nil {
				g.Tables.Log.Write(ctx, report.MessageOtherFormat, t.Table, t.KeyColumns[i].Name, got.period.Name)
			}
		}
		m := scopes[n].mapping
		if !scopes[n].shows(got, &w) {
			m, err = w.mappingFor(p, got.period, got.template)
		}
		if err == nil {
			err = write(keys, p, got.first, m)
		}
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// parentScope is the scope of a parent, and the texts of its numbers if they are of the period
// and the template that were expected.
type parentScope struct {
	*scope.Scope

	mapping  *numberformat.Mapping // nil for integers
	period   calendar.Period
	template string // empty means the policy's
}

// shows reports whether the mapping has the texts of the drawn numbers.
func (s *parentScope) shows(got drawn, w *writer) bool {
	if w.texts == nil {
		return true
	}
	policys := w.texts.String()
	return got.period.Name == s.period.Name && cmp.Or(got.template, policys) == cmp.Or(s.template, policys)
}

// scopeFor returns the scope with the greatest number, and the texts, of a parent. template is
// the template of the period; empty means the policy's.
func (s *ScopeRows) scopeFor(p *parent, w *writer, template string) (got parentScope, err error) {
	q := s.Scope
	got = parentScope{Scope: &q, template: template}
	if w.texts == nil {
		return got, nil
	}
	// The texts of all periods have the same characters besides digits, so any period shows
	// whether there are texts.
	if got.period, err = s.likely(p); err != nil {
		return got, err
	}
	if got.mapping, err = w.mappingFor(p, got.period, template); err != nil {
		return got, err
	}
	q.Max = min(got.mapping.Last(), cmp.Or(q.Max, math.MaxInt64))
	if q.Periods == nil {
		parts := w.partsOf(p, got.period)
		q.Column = w.texts.In([]store.Column{q.Column}, parts)[0]
	}
	return got, nil
}

// likely returns the period of a parent's rows, or the one in which the clock is expected
// to stand; the zero Period for a numbering without periods.
func (s *ScopeRows) likely(p *parent) (calendar.Period, error) {
	switch {
	case s.Scope.Periods == nil:
		return calendar.Period{}, nil
	case p.period != nil:
		return *p.period, nil
	}
	return s.Scope.Periods.Expected()
}

// errOutside is returned when a number within a parent (such as an order) is drawn
// outside of a transaction: it would not be rolled back with its row.
var errOutside = anchor.New("scope-column", "keys that are numbered within other columns are drawn in the transaction of their rows, and none is open: begin one")

// parentsOf returns the parents of the rows, in the order in which every statement
// locks them. g may be nil.
func (s *ScopeRows) parentsOf(ctx context.Context, g *relation.Session, rows [][]driver.Value) ([]*parent, error) {
	byRow := map[string]*parent{}
	var all []*parent
	for place, row := range rows {
		one := parent{values: make([]any, len(s.Columns))}
		for i := range s.Columns {
			var err error
			if one.values[i], err = s.Columns[i].Normal(row[i]); err != nil {
				return nil, err
			}
		}
		if s.Date == nil {
			one.row = s.Scope.RowFor(one.values)
		} else {
			period, err := s.Date.Period(ctx, g, row[len(s.Columns)])
			if err != nil {
				return nil, err
			}
			one.period, one.row = &period, s.Scope.PeriodRowFor(one.values, period.Name)
		}
		p := byRow[one.row]
		if p == nil {
			p = &one
			byRow[one.row] = p
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

// reserveFor reserves as many numbers of a parent (such as an order) as it has rows, in the
// transaction of g.
func (s *Scoped) reserveFor(ctx context.Context, g *relation.Session, t *table.Table, i int, p *parent, q *scope.Scope) (got drawn, err error) {
	defer func() {
		relation.DoubtRights(g, err)
		err = relation.NoteGone(g, err, s.Joined.Ensures)
	}()
	st, _, err := g.States(ctx, true)
	if err == nil {
		err = relation.MayReserve(ctx, g)
	}
	if err != nil {
		return got, err
	}
	g.NoteJoinedDraw()
	rows := scope.New(st, q)
	if q.Periods != nil && !rows.KnowsPeriod(p.values, p.period) {
		// The rows of the period are made on another connection, which may wait for the
		// transaction.
		columns := []store.Column{q.Column}
		if err := relation.Apart(ctx, g, columns, func(ctx context.Context) error { return rows.EnsurePeriod(ctx, p.values, p.period) }); err != nil {
			return got, err
		}
	}
	return s.reserveFrom(ctx, g, relation.SiteOf(g.Tables, g, t, i), rows, p, nil)
}

// reserveFrom reserves as many numbers of a parent as it has rows. note records draws from the
// row of a period; nil for numbers of the statement's transaction.
func (s *Scoped) reserveFrom(ctx context.Context, g *relation.Session, site relation.Site, rows *scope.Rows, p *parent, note noteDraw) (got drawn, err error) {
	n := int64(len(p.places))
	began := time.Now()
	doubted := s.doubts.has(p.row)
	behind := false
	switch {
	case s.Scope.Periods != nil:
		got, behind, err = s.reservePeriod(ctx, g, rows, p, doubted, note)
	case doubted:
		got.first, behind, err = rows.ReserveAbove(ctx, p.values, n, s.Remedy)
	default:
		got.first, err = s.reserveProven(ctx, g, rows, p)
	}
	s.Joined.draws.note(began, n, got.first, err)
	switch {
	case !doubted:
	case behind:
		// The numbers are compared again next time: a rollback may undo what has raised the
		// row.
		site.NoteSuspect(ctx)
	case err == nil && s.Remedy != keysource.RemedyWarn:
		s.doubts.remove(p.row)
	}
	return got, err
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
		return got, rows.Back()
	}
	if err := rows.Raise(ctx, p.values, inUse); err != nil {
		return got, err
	}
	again, err := rows.ReserveRow(ctx, p.values, int64(len(p.places)), 0)
	if err == nil && again.First < inUse {
		err = rows.Back()
	}
	return again, err
}

// SuspectWithin makes the next draw for the parent (such as an order) of each of these
// rows compare its number with the greatest number within that parent, since a number
// of one of them was in use.
func (s *Scoped) SuspectWithin(ctx context.Context, rows [][]driver.Value) {
	if len(s.Columns) == 0 && s.Date == nil {
		rows = [][]driver.Value{{}} // all rows have one parent
	}
	parents, err := s.parentsOf(ctx, nil, rows)
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
