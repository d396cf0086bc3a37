package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestEndedSwarm: transactions that end in every way there is (deadlocks, also with a
// second result, contexts that end, commits in procedures, rollbacks in triggers and
// conflict clauses) leave numbers without a hole, each once. No index guards them. With
// make soak each engine has half a minute.
func TestEndedSwarm(t *testing.T) {
	t.Parallel()
	multi := harness.MySQLDefault
	multi.Params = "multiStatements=true"
	interp := harness.MySQLInterp
	interp.Name, interp.Params = "mysql-interpolate", "interpolateParams=true&multiStatements=true"
	lasts := 700 * time.Millisecond
	if harness.Soaking() {
		lasts = 30 * time.Second
	}
	for _, e := range harness.ByTurns(t, []harness.Engine{multi, interp, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile, harness.MattnFile}) {
		t.Run(e.Name, func(t *testing.T) {
			s := e.Scratch(t)
			harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, c INT UNIQUE)", "CREATE INDEX t_id ON t (id)",
				"CREATE TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, c INT UNIQUE)", "CREATE INDEX lines_no ON order_lines (order_id, no)")
			createSwarm(t, s)
			cfg := harness.LinesOf(harness.ByOrder)
			cfg.Tables["t"] = harness.JoinedID("t").Tables["t"]
			db, _ := s.Open(t, cfg)
			const workers = 6
			db.SetMaxOpenConns(workers)
			harness.Must(t, db, "INSERT INTO t (a, c) VALUES (0, 1)", "INSERT INTO order_lines (order_id, c) VALUES (0, 1)")
			var wg sync.WaitGroup
			var made, failed atomic.Int64
			stop := time.Now().Add(lasts)
			for w := range workers {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(11, uint64(w)))
					for time.Now().Before(stop) {
						if swarmStep(s, db, r) == nil {
							made.Add(1)
						} else {
							failed.Add(1)
						}
					}
				})
			}
			wg.Wait()
			ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
			if !slices.Equal(ids, harness.UpTo(int64(len(ids)))) {
				t.Errorf("t has %d rows, %d of them twice, up to %d", len(ids), twice(ids), ids[len(ids)-1])
			}
			lines := harness.IntegersOf(t, s.Raw, "SELECT order_id * 1000000 + no FROM order_lines ORDER BY 1")
			parents, holes := map[int64]int64{}, int64(0)
			for i, line := range lines {
				if parent, no := line/1000000, line%1000000; i == 0 || lines[i-1] != line {
					holes += no - parents[parent] - 1
					parents[parent] = no
				}
			}
			if n := twice(lines); n > 0 || holes > 0 {
				t.Errorf("order_lines has %d rows, %d of them twice, and %d holes", len(lines), n, holes)
			}
			t.Logf("%d transactions, %d failed; %d rows of t, %d lines", made.Load()+failed.Load(), failed.Load(), len(ids), len(lines))
		})
	}
}

// twice returns how many of the numbers follow an equal one.
func twice(ids []int64) (n int) {
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			n++
		}
	}
	return n
}

// createSwarm makes what the transactions of a swarm end by.
func createSwarm(t *testing.T, s *harness.Scratch) {
	t.Helper()
	switch s.Dialect.Name {
	case "sqlite":
		createEnding(t, s)
		return
	case "mariadb":
		harness.Must(t, s.Raw, "CREATE PROCEDURE p () COMMIT")
	default:
		harness.Must(t, s.Raw, "CREATE PROCEDURE p () LANGUAGE plpgsql AS 'BEGIN COMMIT; END'",
			"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''5ms''', current_database()); END $$")
	}
	harness.Must(t, s.Raw, "CREATE TABLE l (id INT PRIMARY KEY, a INT)", "INSERT INTO l (id, a) VALUES (1, 0), (2, 0), (3, 0)")
}

// swarmStep is one transaction of a swarm, which goes on after its errors as a careless
// program does, and commits.
func swarmStep(s *harness.Scratch, db *sql.DB, r *rand.Rand) error {
	ctx := context.Background()
	if r.IntN(2) == 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(8000))*time.Microsecond)
		defer cancel()
		ctx = limited
	}
	if r.IntN(6) == 0 { // a transaction of keyfill's own
		return swarmInsert(s, ctx, db, r)
	}
	// The transaction has no context: its statements have.
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	var errs []error
	for range 2 + r.IntN(4) {
		switch r.IntN(5) {
		case 0:
			err = swarmEnd(s, ctx, tx, r)
		default:
			err = swarmInsert(s, ctx, tx, r)
		}
		errs = append(errs, err)
	}
	if r.IntN(4) == 0 {
		_ = tx.Rollback()
		return errors.New("rolled back")
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// swarmInsert inserts a row into one of the tables.
func swarmInsert(s *harness.Scratch, ctx context.Context, x harness.Execer, r *rand.Rand) (err error) {
	switch r.IntN(6) {
	case 4: // fails
		_, err = x.ExecContext(ctx, s.Placeholders("INSERT INTO t (a, c) VALUES (?, 1)"), 1)
	case 5:
		_, err = x.ExecContext(ctx, s.Placeholders("INSERT INTO order_lines (order_id, c) VALUES (?, 1)"), r.IntN(20))
	case 0:
		_, err = x.ExecContext(ctx, s.Placeholders("INSERT INTO t (a) VALUES (?)"), 1)
	case 1:
		_, err = x.ExecContext(ctx, "INSERT INTO t (a) VALUES (1), (2)")
	case 2:
		_, err = x.ExecContext(ctx, s.Placeholders("INSERT INTO order_lines (order_id) VALUES (?)"), r.IntN(20))
	case 3:
		_, err = x.ExecContext(ctx, fmt.Sprintf("INSERT INTO order_lines (order_id) VALUES (%d), (%d)", r.IntN(20), r.IntN(1000)))
	}
	return err
}

// swarmEnd does what may end the transaction.
func swarmEnd(s *harness.Scratch, ctx context.Context, tx *sql.Tx, r *rand.Rand) (err error) {
	n := 1 + r.IntN(3)
	way := r.IntN(4)
	switch {
	case s.Dialect.Name == "sqlite" && way == 0:
		_, err = tx.ExecContext(ctx, "INSERT INTO l (id, a) VALUES (1, 1)")
	case s.Dialect.Name == "sqlite" && way == 1:
		_, err = tx.ExecContext(ctx, "DELETE FROM l")
	case s.Dialect.Name == "sqlite" && way == 2:
		// An interrupted write.
		_, err = tx.ExecContext(ctx, "INSERT INTO n (id) WITH RECURSIVE c (x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT x FROM c WHERE x > 19990 AND x NOT IN (SELECT id FROM n)")
	case s.Dialect.Name == "mariadb" && way == 0:
		var rows *sql.Rows
		if rows, err = tx.QueryContext(ctx, fmt.Sprintf("SELECT 1; SELECT a FROM l WHERE id = %d FOR UPDATE", n)); err == nil {
			for rows.NextResultSet() {
				for rows.Next() {
				}
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
	case way == 1:
		_, err = tx.ExecContext(ctx, "SAVEPOINT s")
		if err == nil {
			err = swarmInsert(s, ctx, tx, r)
			_, back := tx.ExecContext(context.Background(), "ROLLBACK TO SAVEPOINT s")
			err = errors.Join(err, back)
		}
	case s.Dialect.Name != "sqlite" && way == 2:
		_, err = tx.ExecContext(ctx, "CALL p()")
	case s.Dialect.Name == "sqlite":
		_, err = tx.ExecContext(ctx, s.Placeholders("UPDATE l SET a = a + 1 WHERE id = ?"), n)
	default:
		_, err = tx.ExecContext(ctx, s.Placeholders("UPDATE l SET a = a + 1 WHERE id = ?"), n)
	}
	return err
}
