package statements_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestUnsentAtCount: an argument that pgx cannot send is pgx's error at the count of the
// rows, which leaves the transaction open. Plain gets PostgreSQL's error for the INSERT,
// whose parameter has another type there.
//
//deviation:insert-select | An argument that the driver cannot send is the driver's error when keyfill counts the rows, and the transaction stays usable. With the plain driver the server may refuse the text first, which aborts the transaction. | PostgreSQL with pgx | `INSERT INTO t (n) SELECT DISTINCT $1 FROM s` with an integer, into a column that takes no text | –
func TestUnsentAtCount(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, n uuid)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1)")
		filled, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Start = 1 })))
		for _, db := range []*sql.DB{s.Raw, filled} {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("INSERT INTO t (n) SELECT DISTINCT $1 FROM s", 5); err == nil {
				t.Error("no error")
			}
			if _, err := tx.Exec("SELECT 1"); (err == nil) != (db == filled) {
				t.Errorf("behind the error: %v, through keyfill: %t", err, db == filled)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
