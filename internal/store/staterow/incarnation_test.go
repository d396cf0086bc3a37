package staterow_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// TestIncarnation: the marks of a row do not disturb each other, and a row with a long end
// leaves out the server that has written it. All fit the column.
func TestIncarnation(t *testing.T) {
	const uuid, identity = "5a8aca36-ed50-11f1-9dch-0242ac110002", "5a8aca36-ed50-11f1-"
	for _, random := range []string{uuid, "e7614e0456ea25f02ae0d4f1c9b6a7e3", "made"} {
		for _, one := range []struct {
			name  string
			text  func() string
			named bool
			begun bool
			end   int64
		}{
			{"random", func() string { return random }, false, false, 0},
			{"named", func() string { return staterow.WithWriter(random, "a") }, true, false, 0},
			{"named again", func() string { return staterow.WithWriter(staterow.WithWriter(random, "b"), "a") }, true, false, 0},
			{"begun", func() string { return staterow.WithBegin(staterow.WithWriter(random, "a")) }, true, true, 0},
			{"named after it has begun", func() string { return staterow.WithWriter(staterow.WithBegin(random), "a") }, true, true, 0},
			{"ended", func() string { return staterow.WithEnd(staterow.WithWriter(random, "a"), 1_000_000) }, true, false, 1_000_000},
			{"begun and ended", func() string {
				return staterow.WithEnd(staterow.WithBegin(staterow.WithWriter(random, "a")), 1_000_000)
			}, true, true, 1_000_000},
			{"no room", func() string {
				return staterow.WithWriter(staterow.WithEnd(staterow.WithBegin(uuid), math.MaxInt64), "a")
			}, false, true, math.MaxInt64},
		} {
			text := one.text()
			writer := ""
			if one.named {
				writer = staterow.Hint("a")
			}
			if n := utf8.RuneCountInString(text); n > 40 {
				t.Errorf("%s: %q has %d characters", one.name, text, n)
			}
			if staterow.WriterOf(text) != writer || staterow.HasBegun(text) != one.begun || staterow.EndOf(text) != one.end {
				t.Errorf("%s: %q is of %q, begun %v, ended %d", one.name, text, staterow.WriterOf(text), staterow.HasBegun(text), staterow.EndOf(text))
			}
			want := staterow.IdentityOf(random)
			if one.name == "no room" {
				want = identity
			}
			if got := staterow.IdentityOf(text); got != want {
				t.Errorf("%s: the identity is %q, want %q", one.name, got, want)
			}
			at, elsewhere := staterow.Answered(text, "a"), staterow.Answered(text, "b")
			if at != staterow.Server(text, "a") || (elsewhere == staterow.Server(text, "b")) == one.named {
				t.Errorf("%s: %q at the server, %q at another one", one.name, at, elsewhere)
			}
			if got := staterow.Answered(text, ""); got != staterow.Server(text, "") {
				t.Errorf("%s: %q where the server is not known", one.name, got)
			}
		}
	}
}

// TestServerNames: no name of a host or a cluster looks like the mark of a row that another
// server has written.
func TestServerNames(t *testing.T) {
	for _, server := range []string{"1/host/3306", "cluster/a#b", "cluster/a@b", "cluster/a<b>c"} {
		text := staterow.WithWriter("made", server)
		if got := staterow.Answered(text, server); strings.Contains(got, store.ForeignMark) {
			t.Errorf("%q: its own row answers %q", server, got)
		}
		if got := staterow.Answered(text, "2/host/3306"); !strings.Contains(got, store.ForeignMark) {
			t.Errorf("%q: elsewhere its row answers %q", server, got)
		}
	}
}
