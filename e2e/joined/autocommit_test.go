package joined_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestAutocommitOff: where the application's DSN turns autocommit off, what the
// store does by a single statement commits all the same: a row is moved above a
// key that an INSERT brings, and stays there.
func TestAutocommitOff(t *testing.T) {
	t.Parallel()
	off := harness.MySQLDefault
	off.Params = "autocommit=0"
	harness.Each(t, []harness.Engine{off}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		look, err := s.Raw.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer look.Close()
		for _, q := range []string{"SET autocommit = 1", "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)"} {
			if _, err := look.ExecContext(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		for process := range int64(2) {
			db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.FollowExplicit, s.Block = true, 100 })))
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			brought := 1000 * (process + 1)
			for _, q := range []string{harness.InsertT, "COMMIT", fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 2)", brought), "COMMIT"} {
				if _, err := c.ExecContext(ctx, q); err != nil {
					t.Fatalf("process %d: %s: %v", process, q, err)
				}
			}
			c.Close()
			db.Close()
			var next int64
			// The process may have fetched a later block already.
			if err := look.QueryRowContext(ctx, "SELECT next_value FROM keyfill_sequences").Scan(&next); err != nil || next <= brought {
				t.Errorf("process %d: the next value is %d, %v, want %d or more", process, next, err, brought+1)
			}
		}
	})
}
