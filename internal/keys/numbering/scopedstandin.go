package numbering

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// ScopedStandIn numbers the rows of a table within each parent, by a stand-in for the
// row of each.
type ScopedStandIn struct {
	ScopeRows
	NewRow func(name string) keysource.Reserver

	mu   sync.Mutex
	Rows map[string]keysource.Reserver // by name, each made once
}

// Within is the method of [ParentNumbers].
func (s *ScopedStandIn) Within(ctx context.Context, _ *relation.Session, _ *table.Table, _ int, rows [][]driver.Value) ([]driver.Value, error) {
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
