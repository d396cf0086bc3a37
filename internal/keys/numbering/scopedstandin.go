package numbering

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// ScopedStandIn numbers the rows of a table separately within each parent (such as an
// order) or period, in tests without a database: a stand-in replaces the row of each parent.
type ScopedStandIn struct {
	*ScopeRows
	NewRow func(name string) keysource.Reserver

	mu   sync.Mutex
	Rows map[string]keysource.Reserver // the stand-ins by the names of the rows
}

// Within implements [ParentNumbers].
func (s *ScopedStandIn) Within(ctx context.Context, g *relation.Session, t *table.Table, i int, rows [][]driver.Value) ([]driver.Value, error) {
	return s.numbered(ctx, g, t, i, rows, func(p *parent, q *scope.Scope) (got drawn, err error) {
		name := p.row
		if got.period, err = s.likely(p); err != nil {
			return got, err
		}
		if q.Periods != nil {
			name = q.PeriodRowFor(p.values, got.period.Name)
		}
		reserved, err := s.row(name).Reserve(ctx, int64(len(p.places)), 0)
		got.first = reserved.First
		return got, err
	})
}

// row returns the stand-in for the row called name. It creates the stand-in on first
// use.
func (s *ScopedStandIn) row(name string) keysource.Reserver {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.Rows[name]
	if one == nil {
		one = s.NewRow(name)
		s.Rows[name] = one
	}
	return one
}
