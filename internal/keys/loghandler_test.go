package keys

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// handler is a log whose lines a program handles by itself.
type handler func(text string)

func (handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h handler) WithGroup(string) slog.Handler { return h }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h(r.Message)
	return nil
}

// loggedSite is a site of a database with a log.
func loggedSite(h handler) relation.Site {
	k := table.Column{Rule: policy.RuleKey{Column: "id", Own: true, Source: policy.Source{Kind: policy.KindRecycled}}}
	table := &table.Table{Rule: &policy.Rule{Entry: "t"}, KeyColumns: []table.Column{k}}
	db := &relation.Tables{Log: report.Log{Logger: slog.New(h)}}
	return relation.SiteOf(db, nil, table, 0)
}

// TestHandlerComesBack: what is told of a wait, a store and a lease may lead to the next
// wait, answer and lease before the program's handler returns: it inserts the line into a
// table whose keys come from the same source.
func TestHandlerComesBack(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		begin, again func(relation.Site) func()
		want         []string
	}{
		"wait": {
			func(s relation.Site) func() { waited := s.Env().Waited; return func() { waited(ctx, time.Second) } },
			func(s relation.Site) func() { waited := s.Env().Waited; return func() { waited(ctx, time.Second) } },
			[]string{report.MessageWaited.Text},
		},
		"store": {
			func(s relation.Site) func() {
				return func() {
					for range statestore.FailuresBeforeDown {
						s.Watch("").Note(ctx, errors.New("no answer"))
					}
				}
			},
			func(s relation.Site) func() { return func() { s.Watch("").Note(ctx, nil) } },
			[]string{report.MessageStoreDown.Text, report.MessageStoreBack.Text},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			var again func()
			s := loggedSite(func(text string) {
				if lines = append(lines, text); len(lines) == 1 {
					again()
				}
			})
			again = c.again(s)
			returns(t, c.begin(s))
			if !slices.Equal(lines, c.want) {
				t.Errorf("the log is %q, want %q", lines, c.want)
			}
		})
	}
	t.Run("lease", func(t *testing.T) {
		var lines []string
		var l *statestore.LeaseLog
		s := loggedSite(func(text string) {
			if lines = append(lines, text); len(lines) == 1 {
				l.Ended(ctx, report.MessageLeaseLost, 1)
				l.Has(ctx, 1001)
			}
		})
		l = s.Leases(1000, time.Minute)
		returns(t, func() { l.Has(ctx, 1) })
		if want := []string{report.MessageLeaseTaken.Text, report.MessageLeaseLost.Text, report.MessageLeaseTaken.Text}; !slices.Equal(lines, want) {
			t.Errorf("the log is %q, want %q", lines, want)
		}
	})
}

// returns calls a function that must not wait for itself.
func returns(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for its own line of the log")
	}
}

// TestHandlerPanics: a handler that panics takes no line from those behind it.
func TestHandlerPanics(t *testing.T) {
	lines := 0
	s := loggedSite(func(string) {
		if lines++; lines == 1 {
			panic("of the program")
		}
	})
	l := s.Leases(1000, time.Minute)
	func() {
		defer func() { recover() }()
		l.Has(context.Background(), 1)
	}()
	returns(t, func() { l.Has(context.Background(), 1001) })
	if lines != 2 {
		t.Errorf("%d lines, want 2", lines)
	}
}

// TestWaitsOfStates: the waits of all states of a source, of 1,000 tenants for example, are
// one line a minute.
func TestWaitsOfStates(t *testing.T) {
	lines := 0
	s := loggedSite(func(string) { lines++ })
	for range 1000 {
		s.Env().Waited(context.Background(), time.Second)
	}
	if lines != 1 {
		t.Errorf("%d lines about the waits of one source, want 1", lines)
	}
}
