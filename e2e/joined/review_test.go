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
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// allOfTransactions is the policy for tables with all kinds of keys that belong to
// a transaction: t without gaps, m by its greatest key, order_lines by parent.
func allOfTransactions() *policy.Config {
	cfg := harness.LinesOf(harness.ByOrder)
	cfg.Tables["t"] = policy.Table{Column: "id", InPlace: harness.JoinedSource()}
	cfg.Tables["m"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true}}
	return cfg
}

// insertsOf are an INSERT into each of these tables.
var insertsOf = []string{
	"INSERT INTO t (a) VALUES (%s)",
	"INSERT INTO m (a) VALUES (%s)",
	"INSERT INTO order_lines (order_id) VALUES (%s)",
}

func tablesOfTransactions(t *testing.T, s *harness.Scratch) *sql.DB {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
	harness.Exec(t, s.Raw, "CREATE TABLE m (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	harness.CreateLines(t, s)
	db, _ := s.Open(t, allOfTransactions())
	return db
}

// TestJoinedVictim: the engine ends the transaction of a deadlock's victim, and commits
// each later statement at once: no key is drawn there, which two rows could get. The
// application's next transaction is as any other.
func TestJoinedVictim(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		db := tablesOfTransactions(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE l (id INT PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO l (id, a) VALUES (1, 0), (2, 0)")
		for _, way := range []string{"UPDATE l SET a = a + 1 WHERE id = ?", "UPDATE l SET a = a + 1 WHERE id = %d", "SELECT a FROM l WHERE id = ? FOR UPDATE"} {
			for _, query := range insertsOf {
				for _, value := range []string{"?", "5"} {
					insertAsVictim(t, s, db, way, fmt.Sprintf(query, value))
				}
			}
		}
		for _, table := range []string{"t", "m", "order_lines"} {
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table); n != 6 {
				t.Errorf("%d rows in %s, want those of the transactions that were begun again", n, table)
			}
		}
	})
}

// insertAsVictim has a transaction become the victim of a deadlock and go on with
// an INSERT, then has it begin again.
func insertAsVictim(t *testing.T, s *harness.Scratch, db *sql.DB, way, query string) {
	t.Helper()
	lock := func(tx *sql.Tx, id int) error {
		var a int
		switch {
		case strings.HasPrefix(way, "SELECT"):
			return tx.QueryRow(way, id).Scan(&a)
		case strings.Contains(way, "%"):
			_, err := tx.Exec(fmt.Sprintf(way, id))
			return err
		}
		_, err := tx.Exec(way, id)
		return err
	}
	var args []any
	if strings.Contains(query, "?") {
		args = []any{5}
	}
	victim, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer victim.Rollback()
	other, err := s.Raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	harness.Must(t, other, "INSERT INTO l (id, a) VALUES (11, 0), (12, 0), (13, 0)") // more to undo
	if err := errors.Join(lock(victim, 1), lock(other, 2)); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() { waits <- lock(other, 1) }()
	time.Sleep(50 * time.Millisecond)
	if err := lock(victim, 2); err == nil {
		t.Fatal("there was no deadlock")
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := victim.Exec(query, args...); err == nil || !strings.Contains(err.Error(), "begin again") {
		t.Errorf("%s; %s: %v", way, query, err)
	}
	if err := victim.Rollback(); err != nil {
		t.Fatal(err)
	}
	err = harness.InTx(db, func(tx *sql.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Errorf("%s, begun again: %v", query, err)
	}
}

// TestJoinedFirstInside: the first numbers of several tables in one transaction,
// which may not see the rows that are made for them while it is open.
func TestJoinedFirstInside(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, first := range insertsOf {
			s := s.Engine.Scratch(t)
			db := tablesOfTransactions(t, s)
			err := harness.InTx(db, func(tx *sql.Tx) error {
				for _, query := range append([]string{first}, insertsOf...) {
					if _, err := tx.Exec(fmt.Sprintf(query, "7")); err != nil {
						return fmt.Errorf("%s: %w", query, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s first: %v", first, err)
			}
		}
	})
}

// TestJoinedOwnLock: a transaction that has locked the table before the numbering
// was ever looked at does not wait for itself: the table is asked on its connection.
//
//deviation:keys-of-a-transaction | Before a process's first number, another connection looks at the numbering and the greatest key. If the transaction's own lock on the table blocks it for 10 seconds, with `scope:` 5 for a parent without a row, the INSERT is an error. | SQL Server, Oracle; `scope:` on PostgreSQL too | `TRUNCATE t; INSERT INTO t …` in one transaction | insert a row before
func TestJoinedOwnLock(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	db, _ := joinedTable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	truncate := func() error {
		return harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, "TRUNCATE TABLE t")
			_, err := tx.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)")
			return err
		})
	}
	if err := truncate(); err != nil {
		t.Errorf("before the numbering was looked at: %v", err)
	}
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
	if err := truncate(); err != nil {
		t.Error(err)
	}
	s.WantNumbers(t, 3)
}

// TestJoinedInTheWay: a key of a program without keyfill stands where the next number would:
// it is an error, whose remedy the policy says, and not the same one for ever.
//
//deviation:keys-of-a-transaction | A key that was brought, or moved by an UPDATE, and equals the next number is a duplicate-key error; the next INSERT (with `scope:` the parent's next) does what `on_behind:` says. Without a unique index the key is stored twice. | all | `INSERT INTO lines (order_id, no) VALUES (7, 4)` | a unique index; leave the number out
func TestJoinedInTheWay(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, remedy := range []keysource.Remedy{"", keysource.RemedyAdvance} {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			cfg := harness.JoinedID("t")
			cfg.Tables["t"].InPlace.OnBehind = remedy
			db, _ := s.Open(t, cfg)
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
			harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (2, 2), (3, 3)")
			_, err := db.Exec("INSERT INTO t (a) VALUES (4)")
			if err != nil { // SQLite has looked again itself
				_, err = db.Exec("INSERT INTO t (a) VALUES (4)")
			}
			if remedy == "" {
				if !errors.Is(err, store.ErrBehind) {
					t.Errorf("%v, want %v", err, store.ErrBehind)
				}
			} else if err != nil {
				t.Error(err)
			} else {
				s.WantNumbers(t, 1, 2, 3, 4)
			}
			db.Close()
		}
	})
}

// leftInsert is one that its caller may have left.
type leftInsert struct {
	c   int64
	err error
	key int64
	out keyfill.Outcome
}

// TestJoinedLeft: whenever the context of an INSERT ends, the numbers have no gap,
// what is said to be stored is stored, and the connections go on.
func TestJoinedLeft(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		const connections = 4
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		harness.Exec(t, db, "INSERT INTO t (a, c) VALUES (0, -1)")
		var c atomic.Int64
		var mu sync.Mutex
		var all []leftInsert
		var wg sync.WaitGroup
		stop := time.Now().Add(2 * time.Second)
		for w := range connections {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(7, uint64(w)))
				for time.Now().Before(stop) {
					one := insertAndLeave(s, db, r, c.Add(1))
					mu.Lock()
					all = append(all, one)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range connections { // every one of them is as good as new
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.ExecContext(context.Background(), fmt.Sprintf("INSERT INTO t (a, c) VALUES (0, %d)", -2-i)); err != nil {
				t.Error(err)
			}
		}
		checkLeft(t, s, all)
	})
}

// insertAndLeave makes an INSERT whose context ends after a while.
func insertAndLeave(s *harness.Scratch, db *sql.DB, r *rand.Rand, c int64) leftInsert {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(30_000))*time.Microsecond)
	defer cancel()
	ctx, rec := keyfill.Record(ctx)
	query := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
	var err error
	inside := false
	switch r.IntN(5) {
	case 0:
		_, err = db.ExecContext(ctx, query, 1, c)
	case 1:
		_, err = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO t (a, c) VALUES (1, %d)", c))
	case 2:
		var id int64
		err = db.QueryRowContext(ctx, query+" RETURNING id", 1, c).Scan(&id)
	case 3:
		var rows *sql.Rows
		if rows, err = db.QueryContext(ctx, query+" RETURNING id", 1, c); err == nil {
			for r.IntN(2) == 0 && rows.Next() {
			}
			err = errors.Join(rows.Close(), rows.Err())
		}
	case 4:
		inside = true
		err = harness.InTx(db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query, 1, c)
			if err == nil && r.IntN(3) == 0 {
				err = errEnough
			}
			return err
		})
	}
	one := leftInsert{c: c, err: err}
	if keys := rec.Keys("t"); len(keys) > 0 && !inside {
		one.key, one.out = keys[0].Key.(int64), keys[0].Outcome
	}
	return one
}

// checkLeft compares what was said of INSERTs with what is stored.
func checkLeft(t *testing.T, s *harness.Scratch, all []leftInsert) {
	t.Helper()
	ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
	if !slices.Equal(ids, harness.UpTo(int64(len(ids)))) {
		t.Errorf("%d rows up to %d: not without a hole", len(ids), ids[len(ids)-1])
	}
	wantNext(t, s, len(ids)+1)
	byC := make(map[int64]int64)
	for i, c := range harness.IntegersOf(t, s.Raw, "SELECT c FROM t ORDER BY id") {
		byC[c] = ids[i]
	}
	failed := 0
	for _, one := range all {
		id, stored := byC[one.c]
		if one.err != nil {
			failed++
		}
		switch {
		case one.err == nil && !stored:
			t.Errorf("INSERT %d is not stored, and had no error", one.c)
		case one.out == keyfill.Stored && (!stored || id != one.key),
			one.out == keyfill.NotStored && stored && id == one.key:
			t.Errorf("INSERT %d has key %d (%v): recorded %d as %v, %v", one.c, id, stored, one.key, one.out, one.err)
		}
	}
	t.Logf("%d of %d failed", failed, len(all))
}
