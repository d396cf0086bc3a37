package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Each test here pins a line about the query that follows an INSERT.

// besideSides has a table "native", whose keys MariaDB makes, and a table "filled", each
// with a row. It runs f after an INSERT in a transaction on each.
func besideSides(t *testing.T, columns, row, insert string, f func(t *testing.T, tx *sql.Tx, other *sql.Conn, table string)) {
	t.Helper()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		filled, _ := s.Open(t, harness.SequenceID("filled"))
		for table, db := range map[string]*sql.DB{"native": s.Raw, "filled": filled} {
			key := map[string]string{"native": "BIGINT AUTO_INCREMENT PRIMARY KEY", "filled": "BIGINT PRIMARY KEY"}[table]
			harness.Must(t, s.Raw, "CREATE TABLE "+table+" (id "+key+", "+columns+")")
			harness.Must(t, db, "INSERT INTO "+table+" (a"+row)
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(strings.ReplaceAll(insert, "{t}", table)); err != nil {
				t.Fatal(err)
			}
			other := harness.ConnOf(t, s.Raw)
			harness.Must(t, other, "SET innodb_lock_wait_timeout = 1")
			f(t, tx, other, table)
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestQuestionFixesView: the query after rows of which some are left out fixes what a
// transaction under REPEATABLE READ sees.
//
//deviation:asked-afterwards | In a transaction under REPEATABLE READ the query after an INSERT of several rows, of which some are not stored, fixes what the transaction sees, as its first SELECT would. | MySQL, MariaDB | `INSERT IGNORE INTO t (a) VALUES (1), (1)` | READ COMMITTED; `last_insert_id: off`, and no `Record`
func TestQuestionFixesView(t *testing.T) {
	t.Parallel()
	besideSides(t, "a INT UNIQUE", ") VALUES (0)", "INSERT IGNORE INTO {t} (a) VALUES (1), (1)", func(t *testing.T, tx *sql.Tx, other *sql.Conn, table string) {
		harness.Must(t, other, "INSERT INTO "+table+" VALUES (700000, 7)")
		var rows int
		if err := tx.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"native": 3, "filled": 2}[table]; rows != want {
			t.Errorf("the transaction sees %d rows of %s, want %d", rows, table, want)
		}
	})
}

// TestQuestionLocksGap: the query after an upsert that sets NULL over NULL locks the gap
// of the key that is not stored.
//
//deviation:asked-afterwards | In a transaction the query locks the gap of a key that is not stored: after an upsert that sets NULL over NULL, or an upsert of several rows that did not store each of them although the engine's count equals their number. | MySQL, MariaDB | `ON DUPLICATE KEY UPDATE note = NULL` | `last_insert_id: off`, and no `Record`
func TestQuestionLocksGap(t *testing.T) {
	t.Parallel()
	besideSides(t, "a INT UNIQUE, note VARCHAR(20) DEFAULT 'x'", ", note) VALUES (0, NULL)", "INSERT INTO {t} (a) VALUES (0) ON DUPLICATE KEY UPDATE note = NULL", func(t *testing.T, _ *sql.Tx, other *sql.Conn, table string) {
		_, err := other.ExecContext(context.Background(), "INSERT INTO "+table+" (id, a) VALUES (700000, 7)")
		if waits := sqlcode.Answered(err); waits != (table == "filled") {
			t.Errorf("%s: another INSERT has the error %v", table, err)
		}
	})
}

// TestTriggersAskedOnce: for keys that are no integers the catalog is asked once for the
// table's triggers, where an INSERT that may leave rows out is recorded.
//
//deviation:asked-afterwards | For a table whose keys are no integers the catalog is asked once for its triggers. If one may change a row, the table is asked for the keys of every recorded INSERT. | all but SQL Server and Oracle | `Record`; a trigger that sets `updated_at` | no `Record`
func TestTriggersAskedOnce(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id CHAR(36) PRIMARY KEY, a INT UNIQUE)")
		var seen harness.Spy
		db, _ := harness.OpenConnector(t, harness.Noting{Connector: s.Connector, Spy: &seen}, harness.FillID("t", policy.Table{}))
		ctx, _ := keyfill.Record(t.Context())
		for i, want := range []int{0, 1, 1} {
			if _, err := db.ExecContext([]context.Context{t.Context(), ctx, ctx}[i], "INSERT IGNORE INTO t (a) VALUES (1), (2)"); err != nil {
				t.Fatal(err)
			}
			asked := 0
			for _, query := range seen.All() {
				if strings.Contains(strings.ToUpper(query), "TRIGGERS") {
					asked++
				}
			}
			if asked != want {
				t.Errorf("behind INSERT %d the catalog was asked %d times for triggers, want %d:\n%s", i, asked, want, strings.Join(seen.All(), "\n"))
			}
		}
	})
}

// removing removes the rows before they are asked for, as another client may.
type removing struct {
	sqlmw.NullInterceptor
	remove func()
}

func (r removing) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if strings.Contains(query, "FROM t WHERE") {
		r.remove()
	}
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

// TestRemovedBeforeQuestion: a row that another client removes before the question is not
// called stored.
//
//deviation:asked-afterwards | A row that another client removes between the INSERT and the query is reported as not stored, or unknown. | all | – | a transaction
func TestRemovedBeforeQuestion(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)")
		removed := 0
		remove := func() {
			removed++
			harness.Must(t, s.Raw, "DELETE FROM t")
		}
		wrapped := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, removing{remove: remove}))
		db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: wrapped, As: s.Connector.Driver()}, harness.SequenceID("t"))
		ctx, rec := keyfill.Record(t.Context())
		if _, err := db.ExecContext(ctx, "INSERT IGNORE INTO t (a) VALUES (1), (1)"); err != nil {
			t.Fatal(err)
		}
		for _, key := range rec.Keys("t") {
			if key.Outcome == keyfill.Stored {
				t.Errorf("key %v is called stored", key.Key)
			}
		}
		if removed == 0 || len(rec.Keys("t")) != 2 {
			t.Errorf("the rows were removed %d times, recorded is %v", removed, rec.Keys("t"))
		}
	})
}
