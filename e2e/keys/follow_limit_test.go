package keys_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestFollowBelowLimit: a key above those that a source makes, as another program may
// use them, hides none of the others: the next key is above what a statement brings
// beside it, and above what is stored later.
//
//deviation:brought-keys | A key that an INSERT brings and that has more than `max_bits` bits does not raise the source's numbers. A process that starts later finds the source exhausted. | all | `max_bits: 31`, `INSERT INTO t (id, …) VALUES (4294967296, …)` | a greater `max_bits`
func TestFollowBelowLimit(t *testing.T) {
	t.Parallel()
	for name, src := range followers {
		t.Run(name, func(t *testing.T) {
			engines := []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}
			if name == "joined" {
				engines = engines[1:] // SQLite compares with the greatest key of all before each number
			}
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE s (id BIGINT)", "INSERT INTO s VALUES (700)")
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &src, MaxBits: 31}))
				harness.Exec(t, db, harness.InsertT)
				next := func(what string, want int) {
					t.Helper()
					harness.Exec(t, db, harness.InsertT)
					if n := harness.Count(t, s.Raw, s.Placeholders("SELECT COUNT(*) FROM t WHERE id = ?"), want); n != 1 {
						t.Errorf("%s: the next key is not %d: %v", what, want, harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
					}
				}
				harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (500, 1), (1099511627776, 1)")
				next("literals", 501)
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1), (?, 1)"), int64(1)<<41, 600)
				next("arguments", 601)
				harness.Exec(t, db, "INSERT INTO t (id, a) SELECT id, 1 FROM s")
				next("query", 701)
				if err := insideTx(t, db, true, func(tx *sql.Tx) error {
					_, err := tx.Exec("INSERT INTO t (id, a) VALUES (799 + 1, 1), (4398046511104, 1)")
					return err
				}); err != nil {
					t.Fatal(err)
				}
				next("expression", 801)
				later, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &src, MaxBits: 31}))
				if _, err := later.Exec(harness.InsertT); !errors.Is(err, keysource.ErrExhausted) {
					t.Errorf("a process that starts later: %v", err)
				}
			})
		})
	}
}
