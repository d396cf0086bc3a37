package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestNextTransaction: what SET TRANSACTION says of the next transaction holds for the
// INSERT, but where keyfill has asked something before it outside of a transaction.
//
//deviation:insert-select | Outside of transactions keyfill's own query uses up the settings that `SET TRANSACTION` made for the next transaction: before `INSERT … SELECT` with integers, and before a joined INSERT whose key is NULL when it runs. An AUTO_INCREMENT column without IGNORE is exempt. | MySQL, MariaDB | `SET TRANSACTION READ ONLY`; `INSERT IGNORE INTO t (a) SELECT b FROM s` | `BeginTx` with its options
func TestNextTransaction(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"sequence": {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true},
		"joined":   {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Transaction: policy.TransactionJoined},
	}
	asks := map[string]string{"sequence": "INSERT IGNORE INTO t (a) SELECT b FROM s", "joined": "INSERT INTO t (id, a) SELECT NULL, 1"}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		for kind, source := range sources {
			s := s.Engine.Scratch(t)
			harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT)", "CREATE TABLE s (b INT)", "INSERT INTO s VALUES (1), (2)")
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
			c := harness.ConnOf(t, db)
			harness.Must(t, c, "INSERT INTO t (a) VALUES (0)")
			for _, insert := range []string{"INSERT INTO t (a) VALUES (10)", "INSERT INTO t (a) SELECT b FROM s", asks[kind]} {
				harness.Must(t, c, "SET TRANSACTION READ ONLY")
				if _, err := c.ExecContext(t.Context(), insert); (err == nil) != (insert == asks[kind]) {
					t.Errorf("%s, %s: error %v", kind, insert, err)
				}
			}
			if kind == "sequence" { // without AUTO_INCREMENT the rows are counted before the INSERT
				harness.Must(t, s.Raw, "CREATE TABLE u (id BIGINT PRIMARY KEY, a INT)")
				db, _ := s.Open(t, harness.FillID("u", policy.Table{InPlace: &source}))
				harness.Must(t, harness.ConnOf(t, db), "INSERT INTO u (a) VALUES (20)", "SET TRANSACTION READ ONLY", "INSERT INTO u (a) SELECT b FROM s")
			}
		}
	})
}
