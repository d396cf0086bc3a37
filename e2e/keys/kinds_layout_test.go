package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestSnowflakeLayout: a column whose keys were made with other bits or another
// epoch takes none, since keys of both can be equal.
func TestSnowflakeLayout(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		config := func(change func(*policy.Source)) *policy.Config {
			return harness.KeyKind{Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) {
				s.Worker = harness.NewWorker()
				change(s)
			})}.Config(s.Engine)
		}
		same := config(func(*policy.Source) {})
		one, _ := s.Open(t, same)
		harness.Exec(t, one, "INSERT INTO t (a) VALUES (1)")
		for name, change := range map[string]func(*policy.Source){
			"bits":  func(s *policy.Source) { s.TimeBits, s.WorkerBits, s.SequenceBits = 41, 12, 10 },
			"epoch": func(s *policy.Source) { s.Epoch = "2024-01-01" },
			"lease": func(s *policy.Source) { s.Worker, s.WorkerLease, s.Bits = nil, 30*time.Second, 53 },
		} {
			other, _ := s.Open(t, config(change))
			_, err := other.Exec("INSERT INTO t (a) VALUES (2)")
			if !errors.Is(err, store.ErrLayout) || !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), "41 bits of time by 1ms since 2020-01-01T00:00:00Z, 10 of worker") {
				t.Errorf("%s: %v, want %v", name, err, store.ErrLayout)
			}
		}
		again, _ := s.Open(t, config(func(*policy.Source) {}))
		harness.Exec(t, again, "INSERT INTO t (a) VALUES (3)")
	})
}
