package anchor_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
)

var (
	errExhausted = anchor.New("exhausted", "the source is exhausted")
	errState     = anchor.New(anchor.General, "the store cannot be used")
	errOwn       = anchor.Last("mount", "keyfill: not ours")
)

// TestOf: the innermost section counts, and of several side by side the last that says
// more than that a store is concerned.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{driver.ErrBadConn, ""},
		{fmt.Errorf("x: %w", context.Canceled), ""},
		{errExhausted, "exhausted"},
		{fmt.Errorf("x: %w", errExhausted), "exhausted"},
		{anchor.Errorf("driver", "x: %w", errExhausted), "exhausted"},
		{anchor.Errorf("driver", "x: %w", driver.ErrBadConn), "driver"},
		{errors.Join(errExhausted, errState), "exhausted"},
		{errors.Join(errState, errExhausted), "exhausted"},
		{errors.Join(errState, driver.ErrBadConn), anchor.General},
		{fmt.Errorf("%w: %w", errExhausted, errOwn), "mount"},
	} {
		if got := anchor.Of(tt.err); got != tt.want {
			t.Errorf("Of(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestEnd: a text ends in one anchor, and what is beneath is still found.
func TestEnd(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("keyfill: %w", errExhausted), "keyfill: the source is exhausted [docs/errors.md#exhausted]"},
		{fmt.Errorf("%w (so it is)", errOwn), "keyfill: not ours (so it is) [docs/errors.md#mount]"},
		{anchor.Lastf("driver", "keyfill: %w", driver.ErrBadConn), "keyfill: driver: bad connection [docs/errors.md#driver]"},
	} {
		got := anchor.End(tt.err)
		if got.Error() != tt.want || anchor.End(got) != got {
			t.Errorf("End = %q, want %q", got, tt.want)
		}
		if beneath := errors.Unwrap(tt.err); !errors.Is(got, beneath) || !errors.Is(got, tt.err) {
			t.Errorf("%v: what is beneath is not found", got)
		}
		if anchor.Plain(got.Error()) == got.Error() || anchor.Marked(got.Error()) == "" {
			t.Errorf("%v: the anchor is not found", got)
		}
	}
	for _, same := range []error{errOwn, driver.ErrBadConn, driver.ErrSkip} {
		if got := anchor.End(same); got != same {
			t.Errorf("End(%v) = %v", same, got)
		}
	}
	if anchor.End(nil) != nil || anchor.Marked("a [docs/errors.md#x] b") != "" {
		t.Error("nothing ends in an anchor")
	}
}

// TestKnown: what is known of an error is the text of the error that says its section, and no
// text around it.
func TestKnown(t *testing.T) {
	secret := errors.New("secret")
	for _, tt := range []struct {
		err           error
		text, section string
	}{
		{nil, "", ""},
		{secret, "", ""},
		{anchor.Errorf("driver", "a %w", secret), "", ""},
		{errExhausted, "the source is exhausted", "exhausted"},
		{anchor.Newf("driver", "the code %s", "ERR"), "the code ERR", "driver"},
		{fmt.Errorf("secret: %w: %w", errExhausted, secret), "the source is exhausted", "exhausted"},
		{anchor.Errorf("driver", "secret: %w", errExhausted), "the source is exhausted", "exhausted"},
		{errors.Join(errState, secret, errExhausted), "the source is exhausted", "exhausted"},
		{errors.Join(errExhausted, errState), "the source is exhausted", "exhausted"},
		{anchor.End(errors.Join(errState, secret)), "the store cannot be used", anchor.General},
		{fmt.Errorf("secret: %w", errOwn), "keyfill: not ours", "mount"},
	} {
		if text, section := anchor.Known(tt.err); text != tt.text || section != tt.section {
			t.Errorf("Known(%v) = %q, %q, want %q, %q", tt.err, text, section, tt.text, tt.section)
		}
	}
}
