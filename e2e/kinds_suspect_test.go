package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestKindsSuspect: a key that is in the table already makes the process give up
// what it has reserved, and is counted. The next INSERT goes on.
func TestKindsSuspect(t *testing.T) {
	for _, tt := range []struct {
		source policy.Source
		second any // the key of the number 2
	}{
		{mapped(policy.KindPseudorandom, nil), int64(2 * 16807)},
		{mapped(policy.KindCoprime, func(s *policy.Source) {
			s.Length, s.Alphabet, s.Collation, s.K = 3, policy.AlphabetBase62, policy.CollationBinary, 63
		}), "022"},
		{mapped(policy.KindRecycled, nil), int64(2)},
	} {
		t.Run(tt.source.Kind, func(t *testing.T) {
			each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
				k := keyKind{source: tt.source}
				if tt.source.Kind == policy.KindCoprime {
					k.column = s.asciiBin(3)
				}
				k.create(t, s)
				db, m := s.open(t, k.config(s.engine))
				exec(t, db, "INSERT INTO t (a) VALUES (1)")
				exec(t, s.raw, s.placeholders("INSERT INTO t (id, a) VALUES (?, 0)"), tt.second)
				if _, err := db.Exec("INSERT INTO t (a) VALUES (2)"); err == nil {
					t.Fatal("the same key twice")
				}
				if n := m.Stats().Tables["t"].Suspects; n != 1 {
					t.Errorf("%d suspects, want 1", n)
				}
				exec(t, db, "INSERT INTO t (a) VALUES (3)")
			})
		})
	}
}

// TestKindsProcedure: a procedure of the user's own reserves.
func TestKindsProcedure(t *testing.T) {
	each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE serials (name VARCHAR(100) NOT NULL PRIMARY KEY, next BIGINT NOT NULL)")
		k := keyKind{source: policy.Source{Kind: policy.KindSequence, Name: "things", Via: policy.ViaProcedure, Procedure: "take", Block: 10}}
		exec(t, s.raw, "INSERT INTO serials VALUES ('things', 1001)")
		if s.isPostgres() {
			exec(t, s.raw, `CREATE FUNCTION take(n text, c bigint) RETURNS bigint LANGUAGE sql AS
$$ UPDATE serials SET next = next + c WHERE name = n RETURNING next - c $$`)
		} else {
			exec(t, s.raw, `CREATE PROCEDURE take(n VARCHAR(100), c BIGINT) BEGIN
START TRANSACTION; UPDATE serials SET next = next + c WHERE name = n; SELECT next - c FROM serials WHERE name = n; COMMIT; END`)
		}
		k.create(t, s)
		db, _ := s.open(t, k.config(s.engine))
		exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		if got := keysOf(t, s.raw, context.Background(), "SELECT id FROM t ORDER BY a"); fmt.Sprint(got) != "[1001 1002]" {
			t.Errorf("stored %v", got)
		}
		if next := countInt(t, s.raw, "SELECT next FROM serials"); next < 1011 || next%10 != 1 {
			t.Errorf("the procedure's next value is %d, want a multiple of 10 above 1001", next)
		}
	})
}
