package numbering

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// ScopedStandIn numbers the rows of a table separately within each parent (such as an
// order), in tests without a database: a stand-in replaces the row of each parent.
type ScopedStandIn struct {
	ScopeRows
	NewRow func(name string) keysource.Reserver

	mu   sync.Mutex
	Rows map[string]keysource.Reserver // the stand-ins by the names of the rows
}

// Within implements [ParentNumbers].
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
