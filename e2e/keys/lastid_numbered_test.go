package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestLastInsertIDNumberedFirst: where the engine numbers the first row of an INSERT, since
// the key that it brings is NULL, LastInsertId is that number, as without keyfill. It was the
// key of a later row, which REPLACE may have taken away.
func TestLastInsertIDNumberedFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		first      int // the row whose key is LastInsertId, by a
	}{
		{"NULL", "INSERT INTO t (id, a) VALUES (CASE WHEN 1 = 2 THEN 3 END, 1), (DEFAULT, 2), (?, 3)", 1},
		{"REPLACE", "REPLACE INTO t (id, a) VALUES (CASE WHEN 1 = 2 THEN 3 END, 1), (DEFAULT, 2), (?, 2)", 1},
		{"a key", "INSERT INTO t (id, a) VALUES (CASE WHEN 1 = 1 THEN 500 END, 1), (DEFAULT, 2), (?, 3)", 2},
		{"a key, and one at the end", "INSERT INTO t (id, a) VALUES (CASE WHEN 1 = 1 THEN 500 END, 1), (?, 2), (600, 3)", 2},
		{"NULL, and a key at the end", "INSERT INTO t (id, a) VALUES (CASE WHEN 1 = 2 THEN 3 END, 1), (?, 2), (600, 3)", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
				for _, filled := range []bool{false, true} {
					s := s.Engine.Scratch(t)
					harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE)")
					db := s.Raw
					if filled {
						db, _ = s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
					}
					res, err := db.Exec(c.text, nil)
					if err != nil {
						t.Fatal(err)
					}
					id, err := res.LastInsertId()
					if want := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = "+string(rune('0'+c.first))); err != nil || len(want) != 1 || id != want[0] {
						t.Errorf("filled %v: LastInsertId %d, %v, want %v", filled, id, err, want)
					}
				}
			})
		})
	}
}
