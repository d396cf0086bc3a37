package keys

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/keyfill/keyfill/keysource"
)

// scopedStandIn numbers the rows of a table within each parent, by a stand-in for the
// row of each.
type scopedStandIn struct {
	scopeRows
	newRow func(name string) keysource.Reserver

	mu   sync.Mutex
	rows map[string]keysource.Reserver // by name, each made once
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
