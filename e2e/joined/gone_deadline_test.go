package joined_test

import (
	"context"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestGoneInTime: statements whose contexts end sooner than the two looks at the dropped
// tables are apart get them made again too.
func TestGoneInTime(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, s.Raw, "DROP TABLE keyfill_sequences")
		harness.Eventually(t, func() error {
			began := time.Now()
			harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond+20*time.Since(began)) // longer on a busy machine
			defer cancel()
			_, err := db.ExecContext(ctx, harness.InsertT)
			return err
		})
	})
}
