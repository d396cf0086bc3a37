package numbering

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/keysource"
)

// Snowflake draws numbers that are made from the time and a worker number, or from
// another number that distinguishes processes.
type Snowflake struct {
	Flake  Flake
	Shared bool // other counters draw from Flake too, so Close leaves it open

	// Floor makes Flake begin above the keys in the table; nil if that is not needed.
	Floor *Floor
}

// Flake is a snowflake, or a snowflake whose worker number is leased.
type Flake interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Drop()
	Close(ctx context.Context) error
}

var (
	_ Flake = (*counting.Snowflake)(nil)
	_ Flake = (*counting.Leased)(nil)
)

// Reserve implements [Numbers].
func (s *Snowflake) Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	if err := s.Floor.raise(ctx, g); err != nil {
		return 0, err
	}
	first, err := s.Flake.Reserve(ctx, n)
	if s.Floor != nil && s.Floor.Composite == nil && errors.Is(err, keysource.ErrClock) {
		err = fmt.Errorf("%w; say on_behind: warn if the greatest key in the table is another program's", err)
	}
	return first, err
}

// Suspect implements [Numbers].
func (s *Snowflake) Suspect() { s.Flake.Drop() }

// Close implements [Numbers].
func (s *Snowflake) Close(ctx context.Context) error {
	if s.Shared {
		return nil
	}
	if leased, ok := s.Flake.(*counting.Leased); ok {
		return leave(ctx, leased)
	}
	return s.Flake.Close(ctx)
}
