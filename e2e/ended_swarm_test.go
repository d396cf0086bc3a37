package e2e_test

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
)

// TestEndedSwarm: transactions that end in every way there is (deadlocks, also with a
// second result, contexts that end, commits in procedures, rollbacks in triggers and
// conflict clauses) leave numbers without a hole, each once. No index guards them.
func TestEndedSwarm(t *testing.T) {
	multi := mysqlDefault
	multi.params = "multiStatements=true"
	interp := mysqlInterp
	interp.name, interp.params = "mysql-interpolate", "interpolateParams=true&multiStatements=true"
	lasts := 1500 * time.Millisecond
	if soaking() {
		lasts = 30 * time.Second
	}
	for _, e := range []engine{multi, interp, pgxDefault, pqDefault, sqliteFile, mattnFile} {
		t.Run(e.name, func(t *testing.T) {
			s := e.scratch(t)
			must(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, c INT UNIQUE)", "CREATE INDEX t_id ON t (id)",
				"CREATE TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, c INT UNIQUE)", "CREATE INDEX lines_no ON order_lines (order_id, no)")
			s.createSwarm(t)
			cfg := linesOf(byOrder)
			cfg.Tables["t"] = joinedID("t").Tables["t"]
			db, _ := s.open(t, cfg)
			const workers = 6
			db.SetMaxOpenConns(workers)
			must(t, db, "INSERT INTO t (a, c) VALUES (0, 1)", "INSERT INTO order_lines (order_id, c) VALUES (0, 1)")
			var wg sync.WaitGroup
			var made, failed atomic.Int64
			stop := time.Now().Add(lasts)
			for w := range workers {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(11, uint64(w)))
					for time.Now().Before(stop) {
						if s.swarmStep(db, r) == nil {
							made.Add(1)
						} else {
							failed.Add(1)
						}
					}
				})
			}
			wg.Wait()
			ids := integersOf(t, s.raw, "SELECT id FROM t ORDER BY id")
			if !slices.Equal(ids, upTo(int64(len(ids)))) {
				t.Errorf("t has %d rows, %d of them twice, up to %d", len(ids), twice(ids), ids[len(ids)-1])
			}
			lines := integersOf(t, s.raw, "SELECT order_id * 1000000 + no FROM order_lines ORDER BY 1")
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

// twice returns how many of the numbers stand behind the same one.
func twice(ids []int64) (n int) {
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			n++
		}
	}
	return n
}

// createSwarm makes what the transactions of a swarm end by.
func (s *scratch) createSwarm(t *testing.T) {
	t.Helper()
	switch s.dialect.Name {
	case "sqlite":
		s.createEnding(t)
		return
	case "mariadb":
		must(t, s.raw, "CREATE PROCEDURE p () COMMIT")
	default:
		must(t, s.raw, "CREATE PROCEDURE p () LANGUAGE plpgsql AS 'BEGIN COMMIT; END'",
			"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''5ms''', current_database()); END $$")
	}
	must(t, s.raw, "CREATE TABLE l (id INT PRIMARY KEY, a INT)", "INSERT INTO l (id, a) VALUES (1, 0), (2, 0), (3, 0)")
}

// swarmStep is one transaction of a swarm, which goes on behind its errors as a
// careless program does, and commits.
func (s *scratch) swarmStep(db *sql.DB, r *rand.Rand) error {
	ctx := context.Background()
	if r.IntN(2) == 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(8000))*time.Microsecond)
		defer cancel()
		ctx = limited
	}
	if r.IntN(6) == 0 { // a transaction of keyfill's own
		return s.swarmInsert(ctx, db, r)
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
			err = s.swarmEnd(ctx, tx, r)
		default:
			err = s.swarmInsert(ctx, tx, r)
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
func (s *scratch) swarmInsert(ctx context.Context, x execer, r *rand.Rand) (err error) {
	switch r.IntN(6) {
	case 4: // fails
		_, err = x.ExecContext(ctx, s.placeholders("INSERT INTO t (a, c) VALUES (?, 1)"), 1)
	case 5:
		_, err = x.ExecContext(ctx, s.placeholders("INSERT INTO order_lines (order_id, c) VALUES (?, 1)"), r.IntN(20))
	case 0:
		_, err = x.ExecContext(ctx, s.placeholders("INSERT INTO t (a) VALUES (?)"), 1)
	case 1:
		_, err = x.ExecContext(ctx, "INSERT INTO t (a) VALUES (1), (2)")
	case 2:
		_, err = x.ExecContext(ctx, s.placeholders("INSERT INTO order_lines (order_id) VALUES (?)"), r.IntN(20))
	case 3:
		_, err = x.ExecContext(ctx, fmt.Sprintf("INSERT INTO order_lines (order_id) VALUES (%d), (%d)", r.IntN(20), r.IntN(1000)))
	}
	return err
}

// swarmEnd does what may end the transaction.
func (s *scratch) swarmEnd(ctx context.Context, tx *sql.Tx, r *rand.Rand) (err error) {
	n := 1 + r.IntN(3)
	way := r.IntN(4)
	switch {
	case s.dialect.Name == "sqlite" && way == 0:
		_, err = tx.ExecContext(ctx, "INSERT INTO l (id, a) VALUES (1, 1)")
	case s.dialect.Name == "sqlite" && way == 1:
		_, err = tx.ExecContext(ctx, "DELETE FROM l")
	case s.dialect.Name == "sqlite" && way == 2:
		// An interrupted write.
		_, err = tx.ExecContext(ctx, "INSERT INTO n (id) WITH RECURSIVE c (x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT x FROM c WHERE x > 19990 AND x NOT IN (SELECT id FROM n)")
	case s.dialect.Name == "mariadb" && way == 0:
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
			err = s.swarmInsert(ctx, tx, r)
			_, back := tx.ExecContext(context.Background(), "ROLLBACK TO SAVEPOINT s")
			err = errors.Join(err, back)
		}
	case s.dialect.Name != "sqlite" && way == 2:
		_, err = tx.ExecContext(ctx, "CALL p()")
	case s.dialect.Name == "sqlite":
		_, err = tx.ExecContext(ctx, s.placeholders("UPDATE l SET a = a + 1 WHERE id = ?"), n)
	default:
		_, err = tx.ExecContext(ctx, s.placeholders("UPDATE l SET a = a + 1 WHERE id = ?"), n)
	}
	return err
}
