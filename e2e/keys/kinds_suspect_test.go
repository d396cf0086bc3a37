package keys_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestKindsSuspect: a key that is in the table already makes the process give up
// what it has reserved, and is counted. The next INSERT goes on.
func TestKindsSuspect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source policy.Source
		second any // the key of the number 2
	}{
		{harness.Mapped(policy.KindPseudorandom, nil), int64(2 * 16807)},
		{harness.Mapped(policy.KindCoprime, func(s *policy.Source) {
			s.Length, s.Alphabet, s.Collation, s.K = 3, policy.AlphabetBase62, policy.CollationBinary, 63
		}), "022"},
		{harness.Mapped(policy.KindRecycled, nil), int64(2)},
	} {
		t.Run(tt.source.Kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				k := harness.KeyKind{Source: tt.source}
				if tt.source.Kind == policy.KindCoprime {
					k.Column = asciiBin(s.Engine, 3)
				}
				k.Create(t, s)
				db, m := s.Open(t, k.Config(s.Engine))
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
				harness.Exec(t, s.Raw, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 0)"), tt.second)
				if _, err := db.Exec("INSERT INTO t (a) VALUES (2)"); err == nil {
					t.Fatal("the same key twice")
				}
				if n := m.Stats().Tables["t"].Suspects; n != 1 {
					t.Errorf("%d suspects, want 1", n)
				}
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
			})
		})
	}
}

// TestKindsProcedure: a procedure of the user's own reserves.
func TestKindsProcedure(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE serials (name VARCHAR(100) NOT NULL PRIMARY KEY, next BIGINT NOT NULL)")
		k := harness.KeyKind{Source: policy.Source{Kind: policy.KindSequence, Name: "things", Via: policy.ViaProcedure, Procedure: "take", Block: 10}}
		harness.Exec(t, s.Raw, "INSERT INTO serials VALUES ('things', 1001)")
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, `CREATE FUNCTION take(n text, c bigint) RETURNS bigint LANGUAGE sql AS
$$ UPDATE serials SET next = next + c WHERE name = n RETURNING next - c $$`)
		} else {
			harness.Exec(t, s.Raw, `CREATE PROCEDURE take(n VARCHAR(100), c BIGINT) BEGIN
START TRANSACTION; UPDATE serials SET next = next + c WHERE name = n; SELECT next - c FROM serials WHERE name = n; COMMIT; END`)
		}
		k.Create(t, s)
		db, _ := s.Open(t, k.Config(s.Engine))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		if got := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t ORDER BY a"); fmt.Sprint(got) != "[1001 1002]" {
			t.Errorf("stored %v", got)
		}
		if next := harness.CountInt(t, s.Raw, "SELECT next FROM serials"); next < 1011 || next%10 != 1 {
			t.Errorf("the procedure's next value is %d, want a multiple of 10 above 1001", next)
		}
	})
}
