package keys

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// A test without a database gives stand-ins for the stores (Options.Reservers). The
// counters over them are made here. Everything else knows only that the tables are
// detached: see session.Server.

// detach notes what holds of a table without a database: its catalog is not asked, and
// no trigger changes a row.
func (t *Table) detach() {
	rows := &RowFacts{Stays: true}
	t.AsksCatalog = false
	t.Gate.Rows.Store(rows)
	t.Gate.Facts.Store(&Facts{Columns: make([]ColumnFacts, len(t.KeyColumns)), Rows: rows})
}

// newStandIn returns a counter over the stand-in for stores.
func (dr making) newStandIn() (*counter, error) {
	if len(dr.key.Rule.Scope) > 0 {
		return &counter{numbers: dr.newScopedStandIn()}, nil
	}
	o := dr.key.Rule.Source.SequenceOptions()
	mapping, last, err := dr.key.bounded(dr.state)
	if err != nil {
		return nil, err
	}
	if mapping != nil {
		mapping, o.EndRemedy = dr.key.fromOne(mapping), keysource.EndRemedy(mapping)
	}
	o.Reserver, o.Max = dr.standIn(dr.state), last
	source, err := keysource.NewSequence(o, dr.db.env)
	if err != nil {
		return nil, err
	}
	return &counter{numbers: &blockSequence{source: source}, mapping: mapping}, nil
}

// scopedStandIn numbers the rows of a table within each parent, by a stand-in for the
// row of each.
type scopedStandIn struct {
	scopeRows
	newRow func(name string) keysource.Reserver

	mu   sync.Mutex
	rows map[string]keysource.Reserver // by name, each made once
}

// newScopedStandIn is newScoped without a catalog: the columns are as the policy says.
func (dr making) newScopedStandIn() *scopedStandIn {
	s := &scopedStandIn{
		scopeRows: scopeRows{scope: scope.Scope{Name: dr.state}},
		newRow:    dr.standIn, rows: map[string]keysource.Reserver{},
	}
	for _, rc := range dr.key.Rule.Scope {
		s.columns = append(s.columns, scopeColumn{rule: rc, dialect: dr.db.AnyEngine().Dialect, found: &catalog.Column{Name: rc.Column}})
	}
	return s
}

func (s *scopedStandIn) within(ctx context.Context, _ *Session, _ *Table, _ int, rows [][]driver.Value) ([]driver.Value, error) {
	parents, err := s.parentsOf(rows)
	if err != nil {
		return nil, err
	}
	return numbered(parents, len(rows), func(p *parent) (int64, error) {
		got, err := s.row(p.row).Reserve(ctx, int64(len(p.places)), 0)
		return got.First, err
	})
}

// row returns the stand-in for the row of a name.
func (s *scopedStandIn) row(name string) keysource.Reserver {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.rows[name]
	if one == nil {
		one = s.newRow(name)
		s.rows[name] = one
	}
	return one
}

// fromOne returns a mapping for numbers that count from 1.
func (k *Column) fromOne(mapping keysource.Mapping) keysource.Mapping {
	c, ok := mapping.(*keysource.Composite)
	if !ok {
		return mapping
	}
	spread := 0
	if w := k.Rule.Source.Worker; w != nil {
		spread = *w
	}
	return ticksFromOne{c, int64(spread)}
}

// ticksFromOne is the mapping of a composite for numbers that count from 1: each is
// another millisecond of one spread.
type ticksFromOne struct {
	*keysource.Composite
	spread int64
}

// Key returns the key of a number.
func (m ticksFromOne) Key(number int64, l dialect.Layout) driver.Value {
	bits := m.Bits()
	return m.Composite.Key(number<<(bits.Worker+bits.Sequence)|m.spread<<bits.Sequence, l)
}
