package keysource_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// TestErrorsEndInTheirSections: an error that a program gets from a source ends in the
// section of docs/errors.md, once, and wraps its sentinel.
func TestErrorsEndInTheirSections(t *testing.T) {
	ctx := t.Context()
	text := keysource.Request{N: 1, Layout: dialect.SequentialAsString}
	down := errors.New("down")
	for name, c := range map[string]struct {
		section string
		is      error
		run     func() error
	}{
		"alphabet": {"options", keysource.ErrOptions, func() error {
			_, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: 4, Alphabet: "aa"})
			return err
		}},
		"no keys": {"count", keysource.ErrCount, func() error {
			_, err := keysource.NewUUIDv7(keysource.Env{}).Next(ctx, keysource.Request{Layout: dialect.SequentialAsString})
			return err
		}},
		"layout": {"options", keysource.ErrLayout, func() error {
			_, err := keysource.NewULID(keysource.Env{}).Next(ctx, keysource.Request{N: 1, Layout: dialect.SequentialAtEnd})
			return err
		}},
		"entropy": {"entropy", keysource.ErrEntropy, func() error {
			_, err := keysource.NewUUIDv4(keysource.Env{Rand: iotest.ErrReader(down)}).Next(ctx, text)
			return err
		}},
		"not a key": {"not-a-key", keysource.ErrNotKey, func() error {
			_, err := keysource.Inspect("?")
			return err
		}},
		"another's key": {"not-a-key", keysource.ErrOtherKey, func() error {
			_, err := keysource.NewPseudorandom().Number(int64(-1))
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
