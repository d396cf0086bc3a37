package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// nativeID is the policy for a table whose id comes from a sequence of the engine,
// "" for the column's own.
func nativeID(e engine, sequence string, block int64) *policy.Config {
	return keyKind{source: policy.Source{Kind: policy.KindNative, Sequence: sequence, Block: block}}.config(e)
}

// TestNativeShared: a table is filled by two processes through keyfill, and by
// programs without it, at the same time. Those leave the key to the column's
// default, but on MariaDB beside prepared INSERTs, where they call NEXTVAL:
// MariaDB 10.11.19 crashes where a default of NEXTVAL is drawn while another
// connection prepares an INSERT into that table, with keyfill or without.
func TestNativeShared(t *testing.T) {
	for _, block := range []int64{1, 25} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			each(t, []engine{mysqlDefault, mysqlInterp, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
				exec(t, s.raw, fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d", block))
				exec(t, s.raw, "CREATE TABLE t (id "+s.drawing("numbers")+" NOT NULL PRIMARY KEY, a INT)")
				columns, row := "(a)", "(0)"
				if s.engine == mysqlDefault {
					columns, row = "(id, a)", "(NEXTVAL(numbers), 0)"
				}
				var wg sync.WaitGroup
				insert := func(db runner, rows int) {
					for i := range 60 {
						var args []any
						query := "INSERT INTO t " + columns + " VALUES " + row + strings.Repeat(", "+row, i%rows)
						if db != s.raw {
							query, args = s.manyRows(0, i%rows+1)
						}
						if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
							t.Error(err)
							return
						}
					}
				}
				for range 2 {
					db, _ := s.open(t, nativeID(s.engine, "", block))
					for range 2 {
						wg.Go(func() { insert(db, 30) })
					}
				}
				for range 2 {
					wg.Go(func() { insert(s.raw, 5) })
				}
				wg.Wait()
				if rows := countInt(t, s.raw, "SELECT COUNT(*) FROM t"); rows != 4*2*(30*31/2)+2*12*15 {
					t.Errorf("%d rows", rows)
				}
			})
		})
	}
}

// TestNativeDefault: the live default of a column is right where it draws from the
// source's sequence, and an error that says so where it draws from another one.
func TestNativeDefault(t *testing.T) {
	each(t, nativeEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE SEQUENCE numbers")
		exec(t, s.raw, "CREATE SEQUENCE others")
		exec(t, s.raw, "CREATE TABLE t (id "+s.drawing("numbers")+" NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, nativeID(s.engine, "others", 1))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrOtherSequence) {
			t.Errorf("another sequence: %v", err)
		}
		db, _ = s.open(t, nativeID(s.engine, "numbers", 1))
		exec(t, db, "INSERT INTO t (a) VALUES (1)")
		exec(t, s.raw, "INSERT INTO t (a) VALUES (2)")
		exec(t, db, "INSERT INTO t (a) VALUES (3)")
		if got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY a"); fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("stored %v", got)
		}
	})
}

// TestNativeMended: an increment that is not the block is an error that names both
// and the statement to run; after that the same process goes on.
func TestNativeMended(t *testing.T) {
	each(t, nativeEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE SEQUENCE numbers")
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, nativeID(s.engine, "numbers", 100))
		_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
		var e *store.Error
		if !errors.Is(err, store.ErrIncrement) || !errors.As(err, &e) ||
			!strings.Contains(err.Error(), "INCREMENT BY 1, but block: 100") || !strings.Contains(err.Error(), e.SQL) {
			t.Fatalf("INSERT: %v", err)
		}
		exec(t, s.raw, e.SQL)
		exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
	})
}

// TestNativeBehindTable: keys in the table that are above the sequence are found
// before the first one is made.
func TestNativeBehindTable(t *testing.T) {
	each(t, nativeEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE SEQUENCE numbers")
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, s.raw, "INSERT INTO t VALUES (3, 0)")
		db, _ := s.open(t, nativeID(s.engine, "numbers", 1))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, keysource.ErrStoreBehind) {
			t.Errorf("INSERT: %v", err)
		}
	})
}
