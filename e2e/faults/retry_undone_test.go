package faults_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// again makes a transaction again, as a program does without Retry: under one recorder.
func again(ctx context.Context, o *orders, opts *sql.TxOptions, f func(context.Context, *keyfill.Recorder, *sql.Tx) error) error {
	ctx, rec := keyfill.Record(ctx)
	for {
		err := func() error {
			tx, err := o.db.BeginTx(ctx, opts)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := f(ctx, rec, tx); err != nil {
				return err
			}
			return tx.Commit()
		}()
		if !sqlcode.ClassOf(o.Dialect, err).Transient() {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// ways are Retry, and what a program does without it.
var ways = map[string]func(context.Context, *orders, *sql.TxOptions, func(context.Context, *keyfill.Recorder, *sql.Tx) error) error{
	"Retry": func(ctx context.Context, o *orders, opts *sql.TxOptions, f func(context.Context, *keyfill.Recorder, *sql.Tx) error) error {
		if opts == nil {
			opts = new(sql.TxOptions)
		}
		return keyfill.Retry(ctx, o.db, func(tx *sql.Tx) error {
			ctx, rec := keyfill.Record(ctx)
			return f(ctx, rec, tx)
		}, keyfill.RetryOptions{Tx: *opts})
	},
	"Record": again,
}

// attempts are the keys of the attempts at one order.
type attempts []uuid.UUID

// wantOne checks that all attempts had the same key, and returns it.
func (a attempts) wantOne(t *testing.T) uuid.UUID {
	t.Helper()
	if n := len(slices.Compact(slices.Clone(a))); n != 1 {
		t.Errorf("%d attempts had %d keys", len(a), n)
	}
	return a[0]
}

// both runs two transactions at once, whose first attempts meet before they go on, and
// checks that both are stored, with the keys of the first attempts, and that one was made
// again.
func both(t *testing.T, e harness.Engine, way string, opts *sql.TxOptions, f func(ctx context.Context, tx *sql.Tx, n int, meet func()) error) {
	o := openOrders(t, e, "", func() (cut, time.Duration) { return cutNever, 0 })
	var all [2]attempts
	var wg, met sync.WaitGroup
	met.Add(2)
	for n := range all {
		wg.Go(func() {
			err := ways[way](t.Context(), o, opts, func(ctx context.Context, rec *keyfill.Recorder, tx *sql.Tx) error {
				id, err := o.storeUnder(ctx, rec, tx, n)
				if err != nil {
					t.Error(err)
				}
				first := len(all[n]) == 0
				all[n] = append(all[n], id)
				return f(ctx, tx, n, func() {
					if first {
						met.Done()
						met.Wait()
					}
				})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(all[0])+len(all[1]) < 3 {
		t.Errorf("%d and %d attempts: none was made again", len(all[0]), len(all[1]))
	}
	o.whole(t, []uuid.UUID{all[0].wantOne(t), all[1].wantOne(t)})
}

// TestDeadlock: of two transactions that lock two rows crosswise the engine undoes one,
// which is made again with its keys.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		for way := range ways {
			t.Run(e.Name+"/"+way, func(t *testing.T) {
				t.Parallel()
				both(t, e, way, nil, func(ctx context.Context, tx *sql.Tx, n int, meet func()) error {
					count := e.Placeholders("UPDATE counts SET n = n + 1 WHERE id = ?")
					if _, err := tx.ExecContext(ctx, count, 1+n); err != nil {
						return err
					}
					meet()
					_, err := tx.ExecContext(ctx, count, 2-n)
					return err
				})
			})
		}
	}
}

// TestSerialization: of two transactions of which each reads what the other one changes,
// PostgreSQL undoes one, at a statement or at its COMMIT.
func TestSerialization(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}) {
		for way := range ways {
			t.Run(e.Name+"/"+way, func(t *testing.T) {
				t.Parallel()
				both(t, e, way, &sql.TxOptions{Isolation: sql.LevelSerializable}, func(ctx context.Context, tx *sql.Tx, n int, meet func()) error {
					var sum int
					if err := tx.QueryRowContext(ctx, "SELECT SUM(n) FROM counts").Scan(&sum); err != nil {
						return err
					}
					meet()
					_, err := tx.ExecContext(ctx, "UPDATE counts SET n = $1 WHERE id = $2", sum+1, 1+n)
					return err
				})
			})
		}
	}
}

// TestLockWait: a transaction that has waited for a lock in vain is made again with its
// keys.
func TestLockWait(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		for way := range ways {
			t.Run(e.Name+"/"+way, func(t *testing.T) {
				t.Parallel()
				params := "lock_timeout=50"
				if !e.IsPostgres() {
					params = "innodb_lock_wait_timeout=1"
				}
				o := openOrders(t, e, params, func() (cut, time.Duration) { return cutNever, 0 })
				holder, err := o.raw.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer holder.Rollback()
				const count = "UPDATE counts SET n = n + 1 WHERE id = 1"
				if _, err := holder.Exec(count); err != nil {
					t.Fatal(err)
				}
				var all attempts
				err = ways[way](t.Context(), o, nil, func(ctx context.Context, rec *keyfill.Recorder, tx *sql.Tx) error {
					id, err := o.storeUnder(ctx, rec, tx, 0)
					if err != nil {
						return err
					}
					if all = append(all, id); len(all) == 2 {
						if err := holder.Commit(); err != nil {
							t.Error(err)
						}
					}
					_, err = tx.ExecContext(ctx, count)
					return err
				})
				if err != nil || len(all) < 2 {
					t.Fatalf("%v after %d attempts", err, len(all))
				}
				o.whole(t, []uuid.UUID{all.wantOne(t)})
			})
		}
	}
}

// TestStatementAgain: a single INSERT that has waited for a lock in vain has its key when
// the program sends it again in the same transaction, which MariaDB leaves open.
func TestStatementAgain(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.MySQLEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "innodb_lock_wait_timeout=1", func() (cut, time.Duration) { return cutNever, 0 })
			harness.Must(t, o.raw, "ALTER TABLE orders ADD UNIQUE (n)")
			holder, err := o.raw.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Rollback()
			if _, err := holder.Exec("INSERT INTO orders (id, n) VALUES ('a', 5)"); err != nil {
				t.Fatal(err)
			}
			ctx, rec := keyfill.Record(t.Context())
			err = harness.InTx(o.db, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO orders (n) VALUES (?)", 5); !sqlcode.Is(err, 1205) {
					t.Errorf("%v, want a lock that was waited for in vain", err)
				}
				if err := holder.Rollback(); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, "INSERT INTO orders (n) VALUES (?)", 5)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if all := rec.All(); len(all) != 1 || all[0].Outcome != keyfill.Stored ||
				all[0].Key.(uuid.UUID).String() != harness.Text(t, o.raw, "SELECT id FROM orders") {
				t.Errorf("recorded %v, want the key of the row, once", all)
			}
		})
	}
}

// TestBusy: a transaction of SQLite that finds the database locked, at a statement or at
// its COMMIT, is made again with its keys.
func TestBusy(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"INSERT", "COMMIT"} {
		t.Run(at, func(t *testing.T) {
			s := harness.SQLiteDatabase{Name: "busy", Params: []string{"_pragma=busy_timeout(0)"}, Conns: 2}.Scratch(t)
			harness.Must(t, s.Raw, "CREATE TABLE t (id TEXT PRIMARY KEY, n INT)", "INSERT INTO t VALUES ('a', 1)")
			db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
			holder := harness.ConnOf(t, s.Raw)
			hold, release := "BEGIN IMMEDIATE", "ROLLBACK"
			if at == "COMMIT" {
				hold = "BEGIN; SELECT n FROM t" // a reader, which a COMMIT of others waits for
			}
			if _, err := holder.ExecContext(t.Context(), hold); err != nil {
				t.Fatal(err)
			}
			var all attempts
			runs := 0
			err := keyfill.Retry(t.Context(), db, func(tx *sql.Tx) error {
				if runs++; runs == 3 {
					if _, err := holder.ExecContext(t.Context(), release); err != nil {
						t.Error(err)
					}
				}
				ctx, rec := keyfill.Record(t.Context())
				_, err := tx.ExecContext(ctx, "INSERT INTO t (n) VALUES (?)", 2)
				for _, k := range rec.All() {
					all = append(all, k.Key.(uuid.UUID))
				}
				return err
			})
			if err != nil || runs != 3 || len(all) != 3 {
				t.Fatalf("%v after %d runs with %d keys", err, runs, len(all))
			}
			if got := harness.Text(t, s.Raw, "SELECT GROUP_CONCAT(id) FROM t WHERE n = 2"); got != all.wantOne(t).String() {
				t.Errorf("stored is %s", got)
			}
		})
	}
}
