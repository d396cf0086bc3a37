package keys

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/keysource"
)

// snowflake gives numbers made of the time and the number of a worker, or of another
// spread.
type snowflake struct {
	flake  flake
	shared bool // other counters draw from the flake too, so that close leaves it open

	// floor makes the flake begin above the keys in the table; nil where that is not
	// needed.
	floor *floor
}

// flake is a snowflake, or one whose worker's number is leased.
type flake interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Drop()
	Close(ctx context.Context) error
}

var (
	_ flake = (*keysource.Snowflake)(nil)
	_ flake = (*keysource.Leased)(nil)
)

func (s *snowflake) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	if err := s.floor.raise(ctx, g); err != nil {
		return 0, err
	}
	first, err := s.flake.Reserve(ctx, n)
	if s.floor != nil && s.floor.composite == nil && errors.Is(err, keysource.ErrClock) {
		err = fmt.Errorf("%w; say on_behind: warn if the greatest key in the table is another program's", err)
	}
	return first, err
}

func (s *snowflake) suspect() { s.flake.Drop() }

func (s *snowflake) close(ctx context.Context) error {
	if s.shared {
		return nil
	}
	if leased, ok := s.flake.(*keysource.Leased); ok {
		return leave(ctx, leased)
	}
	return s.flake.Close(ctx)
}
