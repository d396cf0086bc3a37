package apps_test

import (
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestRowBehindDeleted: the statement that an error names for the row of a state begins
// above the numbers of rows that were deleted, as a row that keyfill makes does.
func TestRowBehindDeleted(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		createNumbered(t, s, 3)
		harness.Exec(t, s.Raw, "DELETE FROM t")
		harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
		db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, Exclusive: true}))
		_, err := db.Exec(harness.InsertT)
		var missing *store.Error
		if !errors.Is(err, store.ErrNoRow) || !errors.As(err, &missing) {
			t.Fatalf("without a row: %v", err)
		}
		harness.Must(t, s.Raw, missing.SQL)
		harness.Eventually(t, func() error { _, err := db.Exec(harness.InsertT); return err })
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t"); len(got) != 1 || got[0] != 4 {
			t.Errorf("behind 3 deleted rows: keys %d, want 4", got)
		}
	})
}
