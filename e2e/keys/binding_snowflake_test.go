package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// marked is a snowflake with a mark in the store.
func marked(worker int) policy.Source {
	return policy.Source{Kind: policy.KindSnowflake, Worker: &worker, EnsureSchema: true}
}

// TestBindingSnowflake: a column is served by the workers of one state, and neither by
// another state's nor by a sequence beside them.
func TestBindingSnowflake(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines[1:], func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u")
		for _, c := range []struct {
			name string
			cfg  *policy.Config
			says string // "": it is taken
		}{
			{"first", harness.InPlace(marked(1)), ""},
			{"the same once more", harness.InPlace(marked(1)), ""},
			{"another worker of it", harness.InPlace(marked(2)), ""},
			{"another state", namedFor(marked(1), "t"), `snowflake "numbers"`},
			{"another state of two tables", namedFor(marked(3), "u", "t"), `t.id (workers)", whose row for this column is `},
			{"a sequence", harness.InPlace(harness.Counted(nil)), "t.id (workers)"},
			{"a sequence of another name", namedFor(harness.Counted(nil), "t"), "t.id (workers)"},
			{"exclusive", namedFor(func() policy.Source { f := marked(4); f.Exclusive = true; return f }(), "t"), ""},
			{"first, beside it", harness.InPlace(marked(1)), `"numbers (workers)"`},
		} {
			db, _ := s.Open(t, c.cfg)
			_, err := db.Exec(harness.InsertT)
			if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, store.ErrTaken) ||
				!errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: %v, want %q", c.name, err, c.says)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
	})
}

// TestBindingSnowflakeAfterSequence: a column that a sequence serves is not
// filled by a snowflake.
func TestBindingSnowflakeAfterSequence(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines[1:], func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.InPlace(harness.Counted(nil)))
		harness.Exec(t, db, harness.InsertT)
		db, _ = s.Open(t, harness.InPlace(marked(1)))
		if _, err := db.Exec(harness.InsertT); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%v, want %v", err, store.ErrTaken)
		}
	})
}
