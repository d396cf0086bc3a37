package joined_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestKeyTableCleared: a test suite clears the application's key table together with the
// table that it numbers, and goes on at once. Cleared alone, it has gone back.
func TestKeyTableCleared(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)",
			"CREATE TABLE numbering (what VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL)")
		restart := []string{"DELETE FROM numbering", "INSERT INTO numbering VALUES ('t', 0)"}
		harness.Must(t, s.Raw, restart...)
		source := &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Table: &policy.KeyTable{
			Name: "numbering", Key: "what", Row: "t", Value: "serial", Stored: policy.StoredLast,
		}}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
		for range 3 {
			for range 3 {
				harness.Exec(t, db, harness.InsertT)
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, harness.UpTo(3)) {
				t.Errorf("%v, want 1 to 3", got)
			}
			harness.Must(t, s.Raw, append(restart, "DELETE FROM t")...)
		}
		for range 3 {
			harness.Exec(t, db, harness.InsertT)
		}
		harness.Must(t, s.Raw, append(restart, "DELETE FROM t WHERE id > 1")...)
		if _, err := db.Exec(harness.InsertT); !errors.Is(err, keysource.ErrStoreBack) {
			t.Errorf("with a key in the table: %v, want ErrStoreBack", err)
		}
	})
}
