package counting_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// failing is a store that answers every question with one error.
type failing struct {
	err   error
	asked func() // is called at each question
}

func (f failing) Reserve(context.Context, int64, int64) (keysource.Reservation, error) {
	f.asked()
	return keysource.Reservation{}, f.err
}

func (f failing) Advance(context.Context, int64) error { return f.err }

// TestErrorsEndInTheirSections: an error that a program gets from a source ends in the
// section of docs/errors.md, once, and wraps its sentinel.
func TestErrorsEndInTheirSections(t *testing.T) {
	ctx := t.Context()
	impatient, cancel := context.WithCancel(ctx)
	defer cancel()
	sequence := func(r keysource.Reserver, most int64) *counting.Sequence {
		s, err := counting.NewSequence(counting.SequenceOptions{Reserver: r, Max: most}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	closed := sequence(new(counter), 0)
	if err := closed.Close(ctx); err != nil {
		t.Fatal(err)
	}
	down := errors.New("down")
	for name, c := range map[string]struct {
		section string
		is      error
		run     func() error
	}{
		"no options": {"options", keysource.ErrOptions, func() error {
			_, err := counting.NewSequence(counting.SequenceOptions{}, keysource.Env{})
			return err
		}},
		"worker": {"options", keysource.ErrOptions, func() error {
			_, err := counting.NewSnowflake(nil, keysource.SnowflakeOptions{}, keysource.Env{})
			return err
		}},
		"exhausted": {"exhausted", keysource.ErrExhausted, func() error {
			_, err := sequence(new(counter), 2).Reserve(ctx, 5)
			return err
		}},
		"closed": {"closed", keysource.ErrClosed, func() error {
			_, err := closed.Reserve(ctx, 1)
			return err
		}},
		"store down": {"store-down", keysource.ErrStoreDown, func() error {
			s := sequence(failing{down, cancel}, 0)
			_, err := s.Reserve(impatient, 1)
			for errors.Is(err, context.Canceled) && !errors.Is(err, keysource.ErrStoreDown) {
				_, err = s.Reserve(impatient, 1) // the context ended before the source had the store's error
			}
			return err
		}},
		"store refuses": {"store-state", keysource.ErrStoreState, func() error {
			_, err := sequence(failing{anchor.Endf("%w: no row", keysource.ErrStoreState), func() {}}, 0).Reserve(ctx, 1)
			return err
		}},
	} {
		err := c.run()
		if !errors.Is(err, c.is) {
			t.Errorf("%s: %v does not wrap %v", name, err, c.is)
			continue
		}
		if got := anchor.Marked(err.Error()); got != c.section || strings.Count(err.Error(), "[docs/") != 1 {
			t.Errorf("%s: %v ends in %q, want %q once", name, err, got, c.section)
		}
	}
}
