package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestCharacterSet: a text that the character set of the column may not have is refused. Without
// strict mode the engine would store a question mark, so that numbers of two desks had one text.
func TestCharacterSet(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) CHARACTER SET latin1 NOT NULL, desk VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
		db, _ := s.Open(t, formatted("{n:03}-{column:desk}", func(p *policy.Source) {
			p.Transaction = policy.TransactionJoined
			p.Scope = &policy.Scope{{Column: "desk", Type: policy.ScopeText}}
		}))
		c := harness.ConnOf(t, db)
		harness.Must(t, c, "SET sql_mode = ''")
		for desk, want := range map[string]bool{"ж": false, "я": false, "é": true, "€": true, "A": true} {
			if _, err := c.ExecContext(t.Context(), "INSERT INTO t (desk) VALUES (?)", desk); (err == nil) != want {
				t.Errorf("desk %s: %v", desk, err)
			}
		}
		db, _ = s.Open(t, formatted("{n:03}№", func(p *policy.Source) { p.Name, p.Exclusive = "x", true }))
		harness.MustFail(t, db, "INSERT INTO t (desk) VALUES ('A')")
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE no LIKE '%?%'"); n > 0 {
			t.Errorf("%d rows have another text than was reported", n)
		}
	})
}
