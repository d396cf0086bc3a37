package e2e_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestSnowflakeLayout: a column whose keys were made with other bits or another
// epoch takes none, since keys of both can be equal.
func TestSnowflakeLayout(t *testing.T) {
	each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		config := func(change func(*policy.Source)) *policy.Config {
			return keyKind{source: mapped(policy.KindSnowflake, func(s *policy.Source) {
				s.Worker = newWorker()
				change(s)
			})}.config(s.engine)
		}
		same := config(func(*policy.Source) {})
		one, _ := s.open(t, same)
		exec(t, one, "INSERT INTO t (a) VALUES (1)")
		for name, change := range map[string]func(*policy.Source){
			"bits":  func(s *policy.Source) { s.TimeBits, s.WorkerBits, s.SequenceBits = 41, 12, 10 },
			"epoch": func(s *policy.Source) { s.Epoch = "2024-01-01" },
			"lease": func(s *policy.Source) { s.Worker, s.WorkerLease, s.Bits = nil, 30*time.Second, 53 },
		} {
			other, _ := s.open(t, config(change))
			_, err := other.Exec("INSERT INTO t (a) VALUES (2)")
			if !errors.Is(err, store.ErrLayout) || !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), "41 bits of time by 1ms since 2020-01-01T00:00:00Z, 10 of worker") {
				t.Errorf("%s: %v, want %v", name, err, store.ErrLayout)
			}
		}
		again, _ := s.open(t, config(func(*policy.Source) {}))
		exec(t, again, "INSERT INTO t (a) VALUES (3)")
	})
}
