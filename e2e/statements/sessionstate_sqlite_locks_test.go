package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// reservationWatch calls functions before each attempt to reserve, and before each commit.
type reservationWatch struct {
	sqlmw.NullInterceptor
	tries   int
	before  func(try int)
	commits func()
}

func (w *reservationWatch) TxCommit(_ context.Context, tx driver.Tx) error {
	w.commits()
	return tx.Commit()
}

func (w *reservationWatch) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if strings.HasPrefix(query, "UPDATE keyfill_sequences") {
		w.tries++
		w.before(w.tries)
	}
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

// watched opens a database whose reservations are watched, with a table t in it. The second
// one is the plain driver's.
func (w *reservationWatch) watched(t *testing.T, driver, dsn string) (filled, plain *sql.DB) {
	t.Helper()
	plain = harness.Open(t, driver, dsn)
	harness.Must(t, plain, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE u (a INT)")
	w.before, w.commits = func(int) {}, func() {}
	c := harness.ConnectorOf(t, driver, dsn)
	inner := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: c}, w))
	filled, _ = harness.OpenConnector(t, harness.AsDriver{Connector: inner, As: c.Driver()},
		harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 1}))
	harness.Must(t, filled, "INSERT INTO t (a) VALUES (1)")
	w.tries = 0
	return filled, plain
}

// TestSQLiteReservesAgain: a reservation outside of transactions that meets a lock is made
// again, and one in a transaction of the application is not.
//
//deviation:integer-keys | Outside of transactions a reservation that meets a lock is made again, up to ten times beyond `busy_timeout`. With `cache=shared` the reservation and its INSERT are made again for ten seconds, but not through Query. | SQLite | `SQLITE_BUSY`, `SQLITE_LOCKED_SHAREDCACHE` | a context with a deadline
func TestSQLiteReservesAgain(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "sqlite3"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			w := new(reservationWatch)
			db, plain := w.watched(t, driver, filepath.Join(t.TempDir(), "test.db"))
			other, c := harness.ConnOf(t, plain), harness.ConnOf(t, db)
			harness.Must(t, c, "PRAGMA busy_timeout = 0")
			harness.Must(t, other, "BEGIN IMMEDIATE")
			w.before = func(try int) {
				if try == 2 {
					harness.Must(t, other, "COMMIT")
				}
			}
			harness.Must(t, c, "INSERT INTO t (a) VALUES (2)")
			if w.tries != 2 {
				t.Errorf("reserved in %d attempts, want 2", w.tries)
			}

			w.tries, w.before = 0, func(int) {}
			harness.Must(t, other, "BEGIN IMMEDIATE")
			harness.Must(t, c, "BEGIN")
			harness.MustFail(t, c, "INSERT INTO t (a) VALUES (3)")
			harness.Must(t, c, "ROLLBACK")
			if w.tries > 1 {
				t.Errorf("reserved in %d attempts inside a transaction", w.tries)
			}
			// Nor does it go on after the caller's context has ended.
			w.tries = 0
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w.before = func(int) { cancel() }
			if _, err := c.ExecContext(ctx, "INSERT INTO t (a) VALUES (4)"); err == nil {
				t.Error("a cancelled INSERT had no error")
			}
			if w.tries > 2 {
				t.Errorf("reserved in %d attempts for a caller who has gone", w.tries)
			}
			harness.Must(t, other, "COMMIT")
		})
	}
}

// TestSQLiteSharedCacheOthers: with a shared cache, mattn/go-sqlite3 does not wait beside a
// reservation.
//
//deviation:integer-keys | With `cache=shared` any other statement fails with "database table is locked" beside a reservation, as beside any transaction of another connection. modernc.org/sqlite waits. | SQLite with mattn/go-sqlite3 | `UPDATE u SET a = 1` while another connection inserts into `t` | no `cache=shared`; a large `block:`; a mutex around writes
func TestSQLiteSharedCacheOthers(t *testing.T) {
	t.Parallel()
	w := new(reservationWatch)
	db, plain := w.watched(t, "sqlite3", "file:"+filepath.Join(t.TempDir(), "test.db")+"?cache=shared")
	other := harness.ConnOf(t, plain)
	commits := 0
	w.commits = func() {
		commits++
		if _, err := other.ExecContext(context.Background(), "UPDATE u SET a = 1"); err == nil || !strings.Contains(err.Error(), "table is locked") {
			t.Errorf("%v, want that the table is locked", err)
		}
	}
	harness.Must(t, db, "INSERT INTO t (a) VALUES (2)")
	if commits != 1 {
		t.Errorf("%d reservations, want 1", commits)
	}
}

// TestSQLiteCountChanges: under PRAGMA count_changes, mattn/go-sqlite3 leaves a prepared
// statement unfinished, so that no reservation is committed.
//
//deviation:integer-keys | Under `PRAGMA count_changes`, which is deprecated, a reservation after a prepared statement that changes rows is an error of the engine: the driver leaves that statement unfinished until it is closed. | SQLite with mattn/go-sqlite3 | "cannot commit transaction - SQL statements in progress" | `PRAGMA count_changes = 0`
func TestSQLiteCountChanges(t *testing.T) {
	t.Parallel()
	db, _ := new(reservationWatch).watched(t, "sqlite3", filepath.Join(t.TempDir(), "test.db"))
	c := harness.ConnOf(t, db)
	harness.Must(t, c, "PRAGMA count_changes = 1")
	stmt, err := c.PrepareContext(context.Background(), "INSERT INTO t (a) VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	if _, err := stmt.Exec(2); err != nil {
		t.Fatal(err)
	}
	if _, err := stmt.Exec(3); err == nil || !strings.Contains(err.Error(), "SQL statements in progress") {
		t.Errorf("%v, want the engine's error", err)
	}
	harness.Must(t, c, "PRAGMA count_changes = 0")
}

// TestSQLiteAttachedBefore: a bare name is asked for in the files before the one that has
// it, and a qualified one in no other.
//
//deviation:integer-keys | keyfill asks the attached files in turn for a bare name that is neither in `temp` nor in `main`. In a transaction the files before the right one are read too, and cannot be detached. | SQLite | `ATTACH 'x.db' AS x; ATTACH 'y.db' AS y; BEGIN; INSERT INTO t …; DETACH x` | `y.t`
func TestSQLiteAttachedBefore(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			db, _ := s.Open(t, harness.SequenceID("t"))
			c, folder := harness.ConnOf(t, db), t.TempDir()
			harness.Must(t, c, "ATTACH '"+filepath.Join(folder, "x.db")+"' AS x", "ATTACH '"+filepath.Join(folder, "y.db")+"' AS y",
				"CREATE TABLE y.t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Must(t, c, "BEGIN", "INSERT INTO t VALUES (NULL, 1)")
			harness.MustFail(t, c, "DETACH x")
			harness.Must(t, c, "COMMIT", "BEGIN", "INSERT INTO y.t VALUES (NULL, 1)", "DETACH x", "COMMIT")
		})
	}
}
