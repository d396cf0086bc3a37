package keys_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// rival is a policy for the id of t. Rivals of one state number it together.
type rival struct {
	name, state string
	cfg         func() *policy.Config
}

// rivals are policies for one column of integers, each of which could fill it alone.
func rivals(e harness.Engine, central string) []rival {
	var all []rival
	add := func(name, state string, src policy.Source) {
		all = append(all, rival{name, state, func() *policy.Config {
			if src.Kind == policy.KindSnowflake && src.WorkerLease == 0 {
				src.Worker = harness.NewWorker()
			}
			cfg := harness.InPlace(src)
			cfg.Dialect = e.Dialect.Name
			if src.Store == "central" {
				cfg.Stores = map[string]policy.Store{"central": {Driver: "sqlite", DSN: central}}
			}
			return cfg
		}})
	}
	keys := func(row string) *policy.KeyTable {
		return &policy.KeyTable{Name: "serials", Key: "name", Row: row, Value: "next", Stored: policy.StoredNext}
	}
	add("sequence", "t.id", harness.Counted(nil))
	add("sequence, joined", "t.id", harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }))
	add("sequence, optimistic", "t.id", harness.Counted(func(s *policy.Source) { s.Lock = policy.LockOptimistic }))
	add("sequence of a name", "other", harness.Counted(func(s *policy.Source) { s.Name = "other" }))
	add("scoped", "scoped", harness.Counted(func(s *policy.Source) { s.Block, s.Scope = 0, &policy.Scope{{Column: "p"}} }))
	add("pseudorandom", "pseudorandom", harness.Mapped(policy.KindPseudorandom, nil))
	add("pseudorandom of a name", "random", harness.Mapped(policy.KindPseudorandom, func(s *policy.Source) { s.Name = "random" }))
	add("scatter", "scatter", harness.Mapped(policy.KindScatter, nil))
	add("recycled", "recycled", harness.Mapped(policy.KindRecycled, nil))
	add("recycled of a name", "again", harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Name = "again" }))
	add("key table", "key table", policy.Source{Kind: policy.KindSequence, Table: keys("t")})
	add("another row of it", "another row", policy.Source{Kind: policy.KindSequence, Table: keys("u")})
	add("pseudorandom in a key table", "third row", policy.Source{Kind: policy.KindPseudorandom, Table: keys("w")})
	add("maxplusone", "maxplusone", harness.Mapped(policy.KindMaxPlusOne, nil))
	add("maxplusone without a lock", "maxplusone", policy.Source{Kind: policy.KindMaxPlusOne, Lock: policy.LockNone})
	add("snowflake without a mark", "t.id (workers)", policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone})
	add("snowflake without a mark, of a name", "tick (workers)", policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, Name: "tick"})
	add("sequence elsewhere", "elsewhere", harness.Counted(func(s *policy.Source) { s.Store, s.Start = "central", 1 }))
	all = append(all, rival{"named sequence", "numbers", func() *policy.Config {
		cfg := namedFor(harness.Counted(nil), "t", "u")
		cfg.Dialect = e.Dialect.Name
		return cfg
	}})
	if e.Server == nil {
		return all
	}
	add("snowflake", "t.id (workers)", harness.Mapped(policy.KindSnowflake, nil))
	add("snowflake, leased", "leased", harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.Name, s.WorkerLease = "leased", 30*time.Second }))
	add("sequence by procedure", "t.id", harness.Counted(func(s *policy.Source) { s.Via = policy.ViaProcedure }))
	add("a procedure of its own", "procedure", policy.Source{Kind: policy.KindSequence, Name: "things", Via: policy.ViaProcedure, Procedure: "take"})
	add("native", "native", policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: 50})
	add("another native", "more", policy.Source{Kind: policy.KindNative, Sequence: "more", Block: 50})
	return all
}

// slow reports whether a pair has to wait for a snowflake without a mark to begin,
// a second each, beside one that shows nothing new.
func slow(one, other rival) bool {
	if harness.Soaking() {
		return false
	}
	for _, pair := range [][2]rival{{one, other}, {other, one}} {
		if strings.HasPrefix(pair[0].name, "snowflake without") {
			return pair[1].state != "t.id" && pair[1].state != "maxplusone" && pair[1].state != "t.id (workers)"
		}
	}
	return false
}

// clash reports whether a pair is tried on the servers too in a short run: a sequence of
// the engine, a row of a table that was there before, and the greatest key, beside the
// numbering of keyfill's own table, whichever of them is first.
func clash(one, other rival) bool {
	foreign := []string{"native", "key table", "maxplusone", "maxplusone without a lock"}
	return one.name == "sequence" && slices.Contains(foreign, other.name) ||
		other.name == "sequence" && slices.Contains(foreign, one.name)
}

// createForRivals makes what the rivals need.
func createForRivals(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, p BIGINT, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE serials (name VARCHAR(100) NOT NULL PRIMARY KEY, next BIGINT NOT NULL)")
	if s.Server == nil {
		return
	}
	harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers INCREMENT BY 50")
	harness.Exec(t, s.Raw, "CREATE SEQUENCE more INCREMENT BY 50")
	if s.IsPostgres() {
		harness.Exec(t, s.Raw, `CREATE FUNCTION take(n text, c bigint) RETURNS bigint LANGUAGE sql AS
$$ UPDATE serials SET next = next + c WHERE name = n RETURNING next - c $$`)
	} else {
		harness.Exec(t, s.Raw, `CREATE PROCEDURE take(n VARCHAR(100), c BIGINT) BEGIN
START TRANSACTION; UPDATE serials SET next = next + c WHERE name = n; SELECT next - c FROM serials WHERE name = n; COMMIT; END`)
	}
}

// TestBindingPairs: of two sources for one column the second is refused, whichever
// it is, unless both have one state, and the first one goes on. The tables of
// states are there or not. All pairs are tried on SQLite, and on the servers a fifth of
// them and each clash, but for a long run.
//
//deviation:integer-keys | Keys that no row of `keyfill_sequences` counts (`native`, `maxplusone`, `table:`, a procedure of yours, `store:`, a snowflake without a store) still get a row in `keyfill_sequences` that says which column they fill. keyfill creates that table if it may. | all | a second source for the column is refused | `exclusive: true` creates no table, but for a `store:`
func TestBindingPairs(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			createForRivals(t, s)
			central := "file:" + filepath.Join(t.TempDir(), "central.db")
			all := rivals(s.Engine, central)
			n, clashes := 0, 0
			for i, first := range all {
				for j, second := range all {
					if i == j || slow(first, second) || s.Server != nil && (i+j)%5 != 0 && !clash(first, second) && !harness.Soaking() {
						continue
					}
					if !clash(first, second) && !testturn.Of(t, i*len(all)+j, 6) {
						continue
					}
					n++
					if clash(first, second) {
						clashes++
					}
					makeOrEmptyTables(t, s, n%2 == 0)
					t.Run(first.name+", "+second.name, func(t *testing.T) { checkPair(t, s, first, second) })
				}
			}
			want := 8
			if s.Server == nil {
				want = 6 // SQLite has no sequences
			}
			if clashes != want {
				t.Errorf("%d clashes were tried, want %d", clashes, want)
			}
			t.Logf("%d pairs, %d of them clashes", n, clashes)
		})
	}
}

// makeOrEmptyTables takes all states and rows away, and the tables of states too or
// not.
func makeOrEmptyTables(t *testing.T, s *harness.Scratch, drop bool) {
	t.Helper()
	for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
		if drop {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
		} else {
			_, _ = s.Raw.Exec("DELETE FROM " + table)
		}
	}
	for _, query := range []string{
		"DELETE FROM t", "DELETE FROM serials",
		"INSERT INTO serials VALUES ('t', 41), ('u', 1), ('w', 1), ('things', 1001)",
	} {
		harness.Exec(t, s.Raw, query)
	}
}

func checkPair(t *testing.T, s *harness.Scratch, first, second rival) {
	const insert = "INSERT INTO t (p, a) VALUES (1, 1)"
	one, _ := s.Open(t, first.cfg())
	defer one.Close()
	harness.Exec(t, one, insert)
	two, _ := s.Open(t, second.cfg())
	defer two.Close()
	for range 2 {
		switch _, err := two.Exec(insert); {
		case first.state == second.state && err != nil:
			t.Errorf("they have one state: %v", err)
		case first.state != second.state && !errors.Is(err, keysource.ErrStoreState):
			t.Errorf("two sources for one column: %v", err)
		}
	}
	harness.Exec(t, one, insert)
	again, _ := s.Open(t, first.cfg())
	defer again.Close()
	harness.Exec(t, again, insert)
	if got, want := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"), 3; first.state != second.state && got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
}
