package apps_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestExclusiveRuns: an exclusive source of the engine or of the application's own table
// leaves no row where keyfill_sequences is missing, and so a sequence with start_at can
// begin beside it. The process that was first goes on, also when it looks at its source
// again. One that starts later is refused. SQLite makes the table, so that the sequence is
// refused there.
func TestExclusiveRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		create []string
		src    policy.Source
	}{
		"native": {[]string{"CREATE SEQUENCE numbers"},
			policy.Source{Kind: policy.KindNative, Sequence: "numbers", Exclusive: true}},
		"key table": {[]string{"CREATE TABLE numbers (value BIGINT NOT NULL)", "INSERT INTO numbers VALUES (1)"},
			policy.Source{Kind: policy.KindSequence, Exclusive: true, Block: 10, Table: &policy.KeyTable{Name: "numbers", Value: "value", Stored: policy.StoredNext}}},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t")
				harness.Must(t, s.Raw, c.create...)
				var late atomic.Int64
				cfg := harness.InPlace(c.src)
				cfg.Dialect = s.Dialect.Name // MySQL has no sequences
				o := keyfill.Options{Policy: cfg, Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }}
				old, _ := s.OpenWith(t, o)
				insertMarked(t, old, "old")
				later, _ := s.Open(t, startingAt(1<<40))
				insertMarked(t, later, "later")
				late.Store(int64(time.Hour)) // the claim of the column is tried again
				for range 20 {
					insertMarked(t, old, "old")
					insertMarked(t, later, "later")
				}
				if name == "native" {
					harness.Exec(t, s.Raw, "ALTER SEQUENCE numbers INCREMENT BY 7")
					if _, err := old.Exec(markedInsert("old")); !errors.Is(err, store.ErrIncrement) {
						t.Errorf("by another increment: %v, want %v", err, store.ErrIncrement)
					}
					harness.Exec(t, s.Raw, "ALTER SEQUENCE numbers INCREMENT BY 1")
					insertMarked(t, old, "old")
				}
				restarted, _ := s.Open(t, cfg)
				if _, err := restarted.Exec(markedInsert("old")); !errors.Is(err, store.ErrBegun) {
					t.Errorf("a process that starts later: %v, want %v", err, store.ErrBegun)
				}
				insertMarked(t, old, "old")
			})
		})
	}
}
