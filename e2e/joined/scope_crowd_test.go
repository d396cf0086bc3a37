package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestScopeCrowd: 8 goroutines in two processes insert lines of few parents, a
// third of them in transactions that roll back; the lines of each parent that are
// stored are 1 to N without a hole. The parents of a statement come in any order,
// and no two statements wait for each other. With make soak there are ten times as many.
func TestScopeCrowd(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		ctx, cancel := context.WithTimeout(context.Background(), harness.Limit)
		defer cancel()
		const parents = 5
		rounds := 20
		if harness.Soaking() {
			rounds = 200
		}
		var (
			wg     sync.WaitGroup
			mu     sync.Mutex
			stored [parents]int64
		)
		for process := range 2 {
			db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
			db.SetMaxOpenConns(4)
			for parent := range stored {
				if process == 0 {
					harness.Exec(t, db, fmt.Sprintf("INSERT INTO order_lines (order_id) VALUES (%d)", parent))
					stored[parent]++
				}
			}
			for range 4 {
				wg.Go(func() {
					for range rounds {
						var lines [parents]int64
						err := insertLines(ctx, s, db, &lines)
						switch {
						case err == nil:
							mu.Lock()
							for i, n := range lines {
								stored[i] += n
							}
							mu.Unlock()
						case errors.Is(err, errUndone):
						default:
							t.Error(err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
		for parent, n := range stored {
			got := harness.IntegersOf(t, s.Raw, fmt.Sprintf("SELECT no FROM order_lines WHERE order_id = %d ORDER BY no", parent))
			for i, no := range got {
				if no != int64(i+1) {
					t.Fatalf("parent %d has number %d in place %d of %d", parent, no, i+1, len(got))
				}
			}
			if int64(len(got)) != n {
				t.Errorf("parent %d has %d lines, and %d were committed", parent, len(got), n)
			}
		}
		t.Logf("lines of the parents: %v", stored)
	})
}

// errUndone is for a transaction that was rolled back on purpose.
var errUndone = errors.New("undone")

// insertLines inserts lines of some parents in one statement, alone or in a
// transaction with a second one, and counts them.
func insertLines(ctx context.Context, s *harness.Scratch, db *sql.DB, lines *[5]int64) error {
	insert := func(x interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, from int) error {
		b := s.Builder()
		b.WriteString("INSERT INTO order_lines (item, order_id) VALUES ")
		for i := range 1 + rand.IntN(4) {
			parent := min(from+rand.IntN(len(lines)), len(lines)-1)
			lines[parent]++
			fmt.Fprintf(b, "%s('x', %s)", []string{"", ", "}[min(i, 1)], b.Bind(parent))
		}
		_, err := x.ExecContext(ctx, b.String(), b.Args...)
		return err
	}
	if rand.IntN(2) == 0 {
		return insert(db, 0)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := insert(tx, 0); err != nil {
		return err
	}
	if rand.IntN(3) == 0 {
		return errUndone
	}
	return tx.Commit()
}

// TestScopeFirstUsers: of two transactions that are the first of one parent the
// second waits for the first, and numbers above what that has stored.
//
//deviation:keys-of-a-transaction | An INSERT whose key belongs to its transaction waits for the end of the previous transaction that drew such a key: with `transaction: joined` and `maxplusone` in the table, with `scope:` for the parent, with `period:` in the period. | all | – | `transaction: autonomous`
func TestScopeFirstUsers(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("commits=%v", commits), func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS order_lines")
				harness.CreateLines(t, s)
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
				db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
				harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (1, 'before')")
				first, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer first.Rollback()
				if _, err := first.Exec("INSERT INTO order_lines (order_id, item) VALUES (7, 'first')"); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					_, err := db.Exec("INSERT INTO order_lines (order_id, item) VALUES (7, 'second')")
					done <- err
				}()
				select {
				case err := <-done:
					t.Fatalf("the second has not waited: %v", err)
				case <-time.After(200 * time.Millisecond):
				}
				want := []int64{1}
				if end := first.Rollback; commits {
					end, want = first.Commit, []int64{1, 2}
					if err := end(); err != nil {
						t.Fatal(err)
					}
				} else if err := end(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if got := harness.IntegersOf(t, s.Raw, "SELECT no FROM order_lines WHERE order_id = 7 ORDER BY no"); !slices.Equal(got, want) {
					t.Errorf("numbers %v, want %v", got, want)
				}
			})
		}
	})
}

// TestScopeOldView: a transaction whose view of the table is old, and which is the
// first of a parent that another program has given rows meanwhile, numbers above
// them. There is no unique index that would refuse a number twice.
func TestScopeOldView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item VARCHAR(50))")
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (1, 'before')")
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM order_lines").Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows, %v", n, err)
		}
		harness.Exec(t, s.Raw, "INSERT INTO order_lines (order_id, no, item) VALUES (7, 1, 'theirs'), (7, 2, 'theirs')")
		if _, err := tx.Exec("INSERT INTO order_lines (order_id, item) VALUES (7, 'ours')"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT no FROM order_lines WHERE order_id = 7 ORDER BY no"); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("numbers %v, want 1, 2 and 3", got)
		}
	})
}

// TestScopeNewParents: transactions that are each the first of a parent of their
// own, beside one another, do not get into each other's way.
func TestScopeNewParents(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (1, 'before')")
		const together = 4
		for round := range 10 {
			var open []*sql.Tx
			for i := range together {
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec(fmt.Sprintf("INSERT INTO order_lines (order_id, item) VALUES (%d, 'x')", 2+round*together+i)); err != nil {
					t.Fatalf("round %d, transaction %d: %v", round, i, err)
				}
				open = append(open, tx)
			}
			for _, tx := range open {
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM order_lines WHERE no <> 1"); got[0] != 0 {
			t.Errorf("%d lines are not the first of their parents", got[0])
		}
	})
}

// TestScopeUnseen: a table that the catalog does not show has columns of no known
// type.
func TestScopeUnseen(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"nowhere": harness.LinesOf(harness.ByOrder).Tables["order_lines"]}})
		_, err := db.Exec("INSERT INTO nowhere (order_id) VALUES (7)")
		if err == nil || !strings.Contains(err.Error(), "there is no such table") || !strings.Contains(err.Error(), "types are not known") {
			t.Errorf("the error is %v", err)
		}
	})
}
