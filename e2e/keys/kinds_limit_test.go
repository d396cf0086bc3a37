package keys_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// limitKinds are the sources of integers that begin above the greatest key.
func limitKinds(e harness.Engine) map[string]policy.Source {
	kinds := map[string]policy.Source{
		"recycled":   harness.Mapped(policy.KindRecycled, nil),
		"maxplusone": harness.Mapped(policy.KindMaxPlusOne, nil),
		"joined":     harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Transaction = policy.TransactionJoined }),
		"scoped":     harness.Mapped(policy.KindSequence, nil),
		"optimistic": harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Lock = policy.LockOptimistic }),
	}
	for _, n := range []int64{1, 2, 120} {
		kinds[fmt.Sprintf("recycled of %d", n)] = harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Series = n })
	}
	for _, n := range []int64{0, 1, 7, 1_000_000} {
		kinds[fmt.Sprintf("block %d", n)] = harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Block = n })
	}
	if e.Server != nil {
		kinds["procedure"] = harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Via = policy.ViaProcedure })
	}
	return kinds
}

// TestIntegerLimit: above a greatest key, and with a state, that is near to 2⁶³ the
// sources of integers give what is left, all of it above and none of it twice, and
// say then that they are exhausted.
func TestIntegerLimit(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			for name, source := range limitKinds(e) {
				for i, left := range []int64{0, 1, 2, 3, 8, 121, 1_000_003} {
					if !testturn.Of(t, i+len(name), 3) {
						continue
					}
					t.Run(fmt.Sprintf("%s, %d left", name, left), func(t *testing.T) {
						unique := ""
						if source.Kind == policy.KindMaxPlusOne {
							unique = "UNIQUE "
						}
						for _, q := range []string{
							"DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS keyfill_sequences", "DROP TABLE IF EXISTS keyfill_series",
							"CREATE TABLE t (id BIGINT NOT NULL, p BIGINT NOT NULL, a INT)",
							fmt.Sprintf("CREATE %sINDEX t_id_%d ON t (id)", unique, i),
						} {
							harness.Exec(t, s.Raw, q)
						}
						src := source
						if name == "scoped" {
							src.Scope = &policy.Scope{{Column: "p"}}
						}
						insertToTheEnd(t, s, &src, math.MaxInt64-1-left, left, i%2 == 1)
					})
				}
			}
		})
	}
}

// insertToTheEnd inserts rows in statements of one, two and three until none is left, or
// for a while. They go on above a key that is in the table, or that only the state shows.
func insertToTheEnd(t *testing.T, s *harness.Scratch, src *policy.Source, greatest, left int64, stated bool) {
	t.Helper()
	stated = stated && src.Kind != policy.KindMaxPlusOne && src.Scope == nil
	if stated {
		first, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: src}))
		harness.Exec(t, first, "INSERT INTO t (p, a) VALUES (1, 0)")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d", greatest+1))
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_series")
	} else {
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t (id, p, a) VALUES (%d, 1, 0)", greatest))
	}
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: src}))
	rows := int64(0)
	for i := range 40 {
		n := int64([]int{3, 2, 1}[i%3])
		if src.Series > 0 {
			n = min(n, src.Series)
		}
		_, err := db.Exec("INSERT INTO t (p, a) VALUES (1, 1)" + strings.Repeat(", (1, 1)", int(n)-1))
		switch {
		case err == nil:
			rows += n
		case !errors.Is(err, keysource.ErrExhausted):
			t.Fatalf("%d rows after %d: %v", n, rows, err)
		case n <= left-rows && src.Kind != policy.KindRecycled:
			t.Errorf("%d rows of %d after %d: %v", n, left, rows, err)
		}
	}
	var stored, distinct, least int64
	if err := s.Raw.QueryRow("SELECT COUNT(*), COUNT(DISTINCT id), COALESCE(MIN(id), 0) FROM t WHERE a = 1").Scan(&stored, &distinct, &least); err != nil {
		t.Fatal(err)
	}
	if stored != rows || distinct != rows || rows > 0 && least <= greatest {
		t.Errorf("%d rows told, %d stored with %d keys, the least is %d, and %d was in use", rows, stored, distinct, least, greatest)
	}
	if rows > left {
		t.Errorf("%d rows where %d keys were left", rows, left)
	}
}
