package joined_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestClosedByText: where a text of the application has ended the transaction of BeginTx,
// INSERTs whose keys belong to transactions are stored, as without keyfill, whatever text
// fails or ends a savepoint after it.
func TestClosedByText(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.JoinedID("t"))
		want := 0
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			for _, texts := range [][]string{{"RELEASE SAVEPOINT s"}, {"SAVEPOINT s", "RELEASE SAVEPOINT s"}, {"ROLLBACK TO s"}, {"SELEC 1"}, {"BEGIN", "COMMIT", "COMMIT"}, {"BEGIN", "RELEASE s", "ROLLBACK"}} {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range append([]string{end}, texts...) {
					_, _ = tx.Exec(text) // some fail
				}
				want++
				if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
					t.Errorf("%s, %q: %v", end, texts, err)
				}
				_ = tx.Rollback() // there is none
				if n := harness.Count(t, db, "SELECT COUNT(*) FROM t"); n != want {
					t.Errorf("%s, %q: %d rows, want %d", end, texts, n, want)
				}
			}
		}
	})
}
