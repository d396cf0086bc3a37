package keys_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// createNumbered makes a table whose id the engine numbers too.
func createNumbered(t *testing.T, s *harness.Scratch) {
	t.Helper()
	column := "INTEGER PRIMARY KEY AUTOINCREMENT"
	if s.Server != nil {
		column = "BIGINT PRIMARY KEY AUTO_INCREMENT"
	}
	harness.Exec(t, s.Raw, "CREATE TABLE t (id "+column+", a INT)")
}

// TestFollowEngine: a sequence that replaces an engine's own counter, which follows the
// ids that INSERTs bring, follows them too, without a setting.
func TestFollowEngine(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{0, 1, 10} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
				createNumbered(t, s)
				db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Exclusive, s.Block = true, block })))
				harness.Exec(t, db, harness.InsertT)
				for i, explicit := range []any{1000, "  7000 ", int64(20000), "30000"} {
					harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (?, ?)", explicit, i)
					harness.Exec(t, db, harness.InsertT)
				}
				harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (0x9c40, 1)")
				harness.Exec(t, db, harness.InsertT)
				harness.Exec(t, db, "INSERT INTO t (id, a) VALUES ('50000', 1)")
				harness.Exec(t, db, harness.InsertT)
				got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
				if want := "[1 1000 1001 7000 7001 20000 20001 30000 30001 40000 40001 50000 50001]"; got != want {
					t.Errorf("stored %s, want %s", got, want)
				}
			})
		})
	}
}

// TestStartAboveEngine: ids that the engine has given to rows which were deleted are
// not given again.
func TestStartAboveEngine(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]policy.Source{
		"sequence": harness.Counted(func(s *policy.Source) { s.Exclusive = true }),
		"recycled": harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Exclusive, s.Series = true, 10 }),
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
				createNumbered(t, s)
				for range 3 {
					harness.Exec(t, s.Raw, "INSERT INTO t (a) VALUES (1), (2), (3), (4), (5), (6), (7)")
				}
				harness.Exec(t, s.Raw, "DELETE FROM t WHERE id > 4")
				db, _ := s.Open(t, harness.InPlace(src))
				harness.Exec(t, db, harness.InsertT)
				if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id < 22 || id > 31 {
					t.Errorf("the first key is %d, want one above 21", id)
				}
			})
		})
	}
}
