package keys_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// nativeID is the policy for a table whose id comes from a sequence of the engine; empty
// means the column's own.
func nativeID(e harness.Engine, sequence string, block int64) *policy.Config {
	return harness.KeyKind{Source: policy.Source{Kind: policy.KindNative, Sequence: sequence, Block: block}}.Config(e)
}

// TestNativeShared: a table is filled by two processes through keyfill, and by
// programs without it, at the same time. Those leave the key to the column's
// default, but on MariaDB beside prepared INSERTs, where they call NEXTVAL:
// MariaDB 10.11.19 crashes where a default of NEXTVAL is drawn while another
// connection prepares an INSERT into that table, with keyfill or without.
func TestNativeShared(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{1, 25} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d", block))
				harness.Exec(t, s.Raw, "CREATE TABLE t (id "+s.Drawing("numbers")+" NOT NULL PRIMARY KEY, a INT)")
				columns, row := "(a)", "(0)"
				if s.Engine == harness.MySQLDefault {
					columns, row = "(id, a)", "(NEXTVAL(numbers), 0)"
				}
				var wg sync.WaitGroup
				insert := func(db harness.Runner, rows int) {
					for i := range 60 {
						var args []any
						query := "INSERT INTO t " + columns + " VALUES " + row + strings.Repeat(", "+row, i%rows)
						if db != s.Raw {
							query, args = manyRows(s, 0, i%rows+1)
						}
						if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
							t.Error(err)
							return
						}
					}
				}
				for range 2 {
					db, _ := s.Open(t, nativeID(s.Engine, "", block))
					for range 2 {
						wg.Go(func() { insert(db, 30) })
					}
				}
				for range 2 {
					wg.Go(func() { insert(s.Raw, 5) })
				}
				wg.Wait()
				if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t"); rows != 4*2*(30*31/2)+2*12*15 {
					t.Errorf("%d rows", rows)
				}
			})
		})
	}
}

// TestNativeDefault: the live default of a column is right where it draws from the
// source's sequence, and an error that says so where it draws from another one.
func TestNativeDefault(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		harness.Exec(t, s.Raw, "CREATE SEQUENCE others")
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+s.Drawing("numbers")+" NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, nativeID(s.Engine, "others", 1))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrOtherSequence) {
			t.Errorf("another sequence: %v", err)
		}
		db, _ = s.Open(t, nativeID(s.Engine, "numbers", 1))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		harness.Exec(t, s.Raw, "INSERT INTO t (a) VALUES (2)")
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a"); fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("stored %v", got)
		}
	})
}

// TestNativeMended: an increment that is not the block is an error that names both
// and the statement to run; after that the same process goes on.
func TestNativeMended(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, nativeID(s.Engine, "numbers", 100))
		_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
		var e *store.Error
		if !errors.Is(err, store.ErrIncrement) || !errors.As(err, &e) ||
			!strings.Contains(err.Error(), "INCREMENT BY 1, but block: 100") || !strings.Contains(err.Error(), e.SQL) {
			t.Fatalf("INSERT: %v", err)
		}
		harness.Exec(t, s.Raw, e.SQL)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
	})
}

// TestNativeBehindTable: with on_behind: error keys in the table that are above the
// sequence are found before the first one is made.
func TestNativeBehindTable(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO t VALUES (3, 0)")
		source := policy.Source{Kind: policy.KindNative, Sequence: "numbers", OnBehind: keysource.RemedyError}
		db, _ := s.Open(t, harness.KeyKind{Source: source}.Config(s.Engine))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, keysource.ErrStoreBehind) {
			t.Errorf("INSERT: %v", err)
		}
	})
}
