package statements_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Each test here shows a line of docs/deviations.md.

// TestPreparedTakesLock: Prepare of an INSERT without a column list takes SQLite's lock to
// write, where its table is new to the process and a transaction is open.
//
//deviation:no-column-list | Inside a transaction an INSERT without a column list takes the lock to write before keyfill asks for the columns, as under "Integer keys". | SQLite | `tx.Prepare` takes it too | `columns:`; name the columns
func TestPreparedTakesLock(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", "CREATE TABLE other (a INT)")
		filled, _ := s.Open(t, harness.SequenceID("t"))
		harness.Must(t, filled, "SELECT 1") // makes the tables of states
		for _, c := range []struct {
			db    *sql.DB
			locks bool
		}{{s.Raw, false}, {filled, true}} {
			tx, err := c.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Prepare("INSERT INTO t VALUES (?, ?)"); err != nil {
				t.Fatal(err)
			}
			beside := harness.ConnOf(t, s.Raw)
			harness.Must(t, beside, "PRAGMA busy_timeout = 0")
			if _, err := beside.ExecContext(context.Background(), "INSERT INTO other VALUES (1)"); (err != nil) != c.locks {
				t.Errorf("another connection writes with the error %v, want one: %v", err, c.locks)
			}
			harness.Must(t, beside, "PRAGMA busy_timeout = 60000")
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestPreparedStaysFilled: a prepared INSERT keeps what its Prepare has found, although its
// name means a temporary table since.
//
//deviation:filled-inserts | A prepared INSERT treats its table as temporary or not, as its Prepare found the table. On PostgreSQL and SQLite keyfill looks again if the source has a state. | MySQL, MariaDB, PostgreSQL, SQLite | `CREATE TEMPORARY TABLE t` after `Prepare` | prepare it again
func TestPreparedStaysFilled(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.SequenceID("t"))
		conn := harness.ConnOf(t, db)
		const insert = "INSERT INTO t (a) VALUES (1)"
		before, err := conn.PrepareContext(ctx, insert)
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		harness.Must(t, conn, "CREATE TEMPORARY TABLE t (id BIGINT, a INT)")
		after, err := conn.PrepareContext(ctx, insert)
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		for stmt, want := range map[*sql.Stmt]string{before: "1 1", after: "1 0"} {
			harness.Must(t, conn, "DELETE FROM t")
			if _, err := stmt.Exec(); err != nil {
				t.Fatal(err)
			}
			var got string
			if err := conn.QueryRowContext(ctx, "SELECT CONCAT(COUNT(*), ' ', COUNT(id)) FROM t").Scan(&got); err != nil || got != want {
				t.Errorf("the temporary table has %s rows and keys, error %v, want %s", got, err, want)
			}
		}
	})
}

// TestColumnMovedUnseen: a column that another connection drops and adds again, while a
// checkout lasts that has asked for the columns, gets the values that it got before.
//
//deviation:no-column-list | If another connection, or a function that the INSERT calls, drops a column and adds it again during the checkout, keyfill does not see it: the values go where they went before. | all | `tx.Exec(q); …; tx.Exec(q)` | `columns:`; name the columns
func TestColumnMovedUnseen(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id CHAR(36) PRIMARY KEY, a CHAR(1), b CHAR(1))")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		conn := harness.ConnOf(t, db)
		const insert = "INSERT INTO t VALUES (NULL, 'a', 'b')"
		harness.Must(t, conn, insert)
		harness.Must(t, s.Raw, "ALTER TABLE t DROP a", "ALTER TABLE t ADD a CHAR(1) AFTER b", "DELETE FROM t")
		harness.Must(t, conn, insert)
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 'a' AND b = 'b'"); n != 1 {
			t.Error("the values have moved with the column")
		}
		conn.Close()
		harness.Must(t, db, insert)
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 'b' AND b = 'a'"); n != 1 {
			t.Error("the next checkout has not asked for the columns")
		}
	})
}

// TestRestoredStore: a store that is put back while no process runs gives keys again whose
// order says nothing of what is in the table: the unique index finds them.
//
//deviation:integer-keys | A store that was restored while no process ran gives keys again. Such keys are not in ascending order, so only a unique index finds a repeated key. | all, `pseudorandom`, `scatter`, `coprime` | a backup of `keyfill_sequences` that is older than the table's | raise `next_value` above the numbers in use (`keyfill inspect` prints a key's number)
func TestRestoredStore(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		cfg := harness.InPlace(policy.Source{Kind: policy.KindPseudorandom, EnsureSchema: true, Block: 1})
		db, _ := s.Open(t, cfg)
		harness.Must(t, db, "INSERT INTO t (a) VALUES (1)")
		saved := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences")
		harness.Must(t, db, "INSERT INTO t (a) VALUES (2)")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = ?", saved)
		later, _ := s.Open(t, cfg)
		if _, err := later.Exec("INSERT INTO t (a) VALUES (3)"); !sqlcode.Answered(err) {
			t.Errorf("the INSERT of a key that is there has the error %v, want the engine's", err)
		}
	})
}

// TestBroughtIntoBlock: a key that one process brings, and that another one holds in its
// block, is an error of that one's next INSERT.
//
//deviation:brought-keys | After an INSERT that brings its key, and before keyfill has raised the source above that key, another connection or process may draw the same key, which is a duplicate-key error. Without a unique index the key is stored twice. | all | – | a unique index
func TestBroughtIntoBlock(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		cfg := harness.InPlace(harness.Counted(func(s *policy.Source) { s.FollowExplicit = true }))
		holds, _ := s.Open(t, cfg)
		brings, _ := s.Open(t, cfg)
		harness.Must(t, holds, "INSERT INTO t (a) VALUES (1)")
		next := harness.CountInt(t, s.Raw, "SELECT id FROM t") + 1
		harness.Exec(t, brings, "INSERT INTO t (id, a) VALUES (?, 2)", next)
		if _, err := holds.Exec("INSERT INTO t (a) VALUES (3)"); !sqlcode.Answered(err) {
			t.Errorf("the INSERT of a key that was brought has the error %v, want the engine's", err)
		}
		harness.Must(t, holds, "INSERT INTO t (a) VALUES (4)")
	})
}

// TestTimeOfWait: the time of an INSERT that waits for its number without gaps is the
// beginning of its transaction, before the wait.
//
//deviation:keys-of-a-transaction | `now()` and `CURRENT_TIMESTAMP` are the beginning of the transaction that keyfill makes, before the wait for the number: a later number may have an earlier time. | PostgreSQL | `at timestamptz DEFAULT now()` | `clock_timestamp()`
func TestTimeOfWait(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, at timestamptz DEFAULT now(), really timestamptz DEFAULT clock_timestamp(), a INT)")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := db.Exec("INSERT INTO t (a) VALUES (2)")
			done <- err
		}()
		for deadline := time.Now().Add(harness.Limit); harness.Count(t, s.Raw, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 0; {
			if time.Now().After(deadline) {
				t.Fatal("the second INSERT does not wait")
			}
			time.Sleep(time.Millisecond)
		}
		passed := harness.Text(t, s.Raw, "SELECT clock_timestamp()::text")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := harness.Count(t, s.Raw, "SELECT count(*) FROM t WHERE a = 2 AND at < $1::timestamptz AND really >= $1::timestamptz", passed); n != 1 {
			t.Error("the INSERT that has waited has not the time of before its wait")
		}
	})
}

// TestRowsOfAnotherOpen: SQLite sets no savepoint while the rows of an INSERT are open, so
// that an INSERT with a number without gaps is the engine's error in that transaction.
//
//deviation:keys-of-a-transaction | With `transaction: joined` an INSERT is an error of the engine while the transaction has unread rows of an INSERT into another table, whose keys are not joined. | SQLite, inside a transaction | `tx.Query("INSERT … RETURNING id")` | read the rows first
func TestRowsOfAnotherOpen(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", "CREATE TABLE other (id TEXT PRIMARY KEY, a INT)")
		cfg := harness.JoinedID("t")
		cfg.Tables["other"] = policy.Table{Column: "id"}
		db, _ := s.Open(t, cfg)
		harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		rows, err := tx.Query("INSERT INTO other (a) VALUES (1), (2) RETURNING id")
		if err != nil || !rows.Next() {
			t.Fatalf("no row comes back: %v", err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); !sqlcode.Answered(err) {
			t.Errorf("the INSERT beside open rows has the error %v, want the engine's", err)
		}
		rows.Close()
	})
}

// TestMaxPlusOneRow: an INSERT with maxplusone locks a row of keyfill_sequences on MariaDB,
// and makes the table for it.
//
//deviation:keys-of-a-transaction | With `maxplusone` an INSERT needs a row of `keyfill_sequences` and the privilege to lock rows. | MySQL, MariaDB | `GRANT UPDATE` | `lock: none`
func TestMaxPlusOneRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true}))
		harness.Must(t, db, "INSERT INTO t (a) VALUES (1)")
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences"); n != 1 {
			t.Errorf("keyfill_sequences has %d rows, want 1", n)
		}
	})
}

// TestFirstRowLeftOut: LastInsertId is 0 if the first row of several is left out, for
// keys after which no numbers are kept free.
//
//deviation:asked-afterwards | With snowflakes without a store and with `maxplusone`, LastInsertId is 0 if the first row is not stored, and keyfill does not keep the numbers after the INSERT's own free. | MySQL, MariaDB; PostgreSQL with `last_insert_id: result` | `INSERT IGNORE INTO t (a) VALUES (1), (2)` with `kind: maxplusone` | `kind: sequence`
func TestFirstRowLeftOut(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		for kind, source := range map[string]policy.Source{
			"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
			"sequence":   harness.Counted(nil),
			"snowflake":  {Kind: policy.KindSnowflake, Worker: harness.NewWorker(), EnsureSchema: true},
		} {
			harness.Must(t, s.Raw, "CREATE TABLE "+kind+" (id BIGINT PRIMARY KEY, a INT UNIQUE)", "INSERT INTO "+kind+" VALUES (1, 1)")
			db, _ := s.Open(t, harness.FillID(kind, policy.Table{InPlace: &source}))
			res, err := db.Exec("INSERT IGNORE INTO " + kind + " (a) VALUES (1), (2)")
			if err != nil {
				t.Fatal(err)
			}
			if id, err := res.LastInsertId(); err != nil || (id == 0) != (kind == "maxplusone") {
				t.Errorf("%s: LastInsertId is %d, error %v", kind, id, err)
			}
		}
	})
}

// TestSettingOfView: a view that changes how strings are read is not seen to do so, and an
// INSERT that depends on it is read as before; SET is seen.
//
//deviation:settings | keyfill does not see a change of the setting that no text shows: by a function called without brackets, by a view, or by a trigger. | PostgreSQL | `SELECT t.f FROM t`; a view or trigger that calls `set_config('standard_conforming_strings', …)` | `sql_mode:`, `standard_conforming_strings:`, `quoted_identifier:` in the policy
func TestSettingOfView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id uuid PRIMARY KEY, a text)",
			"CREATE VIEW v AS SELECT set_config('standard_conforming_strings', 'off', false) AS x")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		for change, reads := range map[string]bool{"SELECT x FROM v": false, "SET standard_conforming_strings = off": true} {
			conn := harness.ConnOf(t, db)
			const insert = `INSERT INTO t (a) VALUES ('\') --')`
			harness.Must(t, conn, "SET standard_conforming_strings = on", insert, change)
			_, err := conn.ExecContext(context.Background(), insert)
			if reads && err != nil || !reads && !sqlcode.Answered(err) {
				t.Errorf("behind %s: error %v", change, err)
			}
			harness.Must(t, conn, "SET standard_conforming_strings = on")
			conn.Close()
		}
	})
}
