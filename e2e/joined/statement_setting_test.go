package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// hintedInserts are INSERTs into t (id, a UNIQUE, b) with a comment that MariaDB runs
// or does not run by its version, and with settings of their own. A row stays the same
// as without keyfill, and so do the count, the error and whose row the key is.
var hintedInserts = []struct {
	query string
	args  []any
}{
	{"INSERT /*! IGNORE */ INTO t (a) VALUES (1), (2)", nil},
	{"INSERT /*! IGNORE */ INTO t (a) VALUES (2), (3), (2)", nil},
	{"INSERT /*!50000IGNORE INTO*/ t (a) VALUES (?), (?), (?)", []any{1, 3, 4}},
	{"INSERT /*! IGNORE */ INTO t (a) VALUES (?)", []any{4}},
	{"INSERT /*M!100100 IGNORE */ t (a) VALUES (?), (?)", []any{4, 5}},
	{"INSERT /*!99999 IGNORE */ INTO t (a) VALUES (6), (7)", nil},
	{"INSERT /*!99999 IGNORE */ INTO t (a) VALUES (?), (?)", []any{8, 7}},
	{"INSERT /*!50701 IGNORE */ INTO t (a) VALUES (?)", []any{7}},
	{"INSERT /*!50701 IGNORE */ INTO t (a) VALUES (?)", []any{9}},
	{"INSERT /*!50701INTO*/ t (a) VALUES (?)", []any{10}},
	{"INSERT /*!INTO*/ t (a) VALUES (?)", []any{11}},
	{"INSERT /*!INTO*/ INTO t (a) VALUES (?)", []any{12}},
	{"INSERT /*!40000 LOW_PRIORITY */ /*!*/ INTO t (a) VALUES (?)", []any{13}},
	{"INSERT /*! DELAYED */ INTO t (a) VALUES (?)", []any{14}}, // not in InnoDB
	{"INSERT /*! IGNORE */ INTO t (a, b) SELECT x, y FROM s ORDER BY y DESC", nil},
	{"INSERT /*!99999 IGNORE */ INTO t (a, b) SELECT x + 100, y FROM s WHERE x < ? ORDER BY y DESC", []any{23}},
	{"REPLACE /*! LOW_PRIORITY */ INTO t (a, b) VALUES (1, ?)", []any{5}},
	{"SET STATEMENT max_statement_time=100 FOR INSERT INTO t (a) VALUES (30)", nil},
	{"SET STATEMENT max_statement_time=100, lock_wait_timeout:=50 FOR INSERT IGNORE INTO t (a) VALUES (?), (?)", []any{30, 31}},
	{"SET STATEMENT foreign_key_checks=OFF FOR REPLACE INTO t (a, b) VALUES (?, ?)", []any{31, 2}},
	{"SET STATEMENT optimizer_switch='mrr=on' FOR INSERT INTO t (a, b) SELECT x + 200, y FROM s WHERE x < ? ORDER BY y DESC", []any{23}},
	{"SET STATEMENT lock_wait_timeout=DEFAULT FOR INSERT INTO t (a, b) VALUES (?, 1) ON DUPLICATE KEY UPDATE b = b + 1", []any{30}},
	{"SET STATEMENT max_statement_time=100 FOR SET STATEMENT lock_wait_timeout=50 FOR INSERT INTO t SET a = ?", []any{32}},
	// Where the time ends the engine stores a row with NULL at times, by the plain driver
	// too: 2 of 3,000 with SLEEP, and one seen with this join of 6^13 rows.
	{"SET STATEMENT max_statement_time=0.01 FOR INSERT INTO t (a) VALUES ((SELECT COUNT(*) FROM s JOIN s b JOIN s c JOIN s d JOIN s e JOIN s f JOIN s g JOIN s h JOIN s i JOIN s j JOIN s k JOIN s l JOIN s m))", nil},
	{"SET STATEMENT max_statement_time=no FOR INSERT INTO t (a) VALUES (?)", []any{34}},
}

// TestHintedInserts: with such a comment, or settings of the statement, an INSERT does
// what it does by the plain driver, and its LastInsertId is the same row's.
//
//deviation:insert-select | Settings of SET STATEMENT apply to the INSERT alone: the count and keyfill's other questions run without them. | MariaDB | `SET STATEMENT max_statement_time=1 FOR INSERT INTO t (a) SELECT …` | `SET SESSION`
func TestHintedInserts(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, prepared := range []bool{false, true} {
			harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t, t0, s", "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT UNIQUE, b INT)",
				"CREATE TABLE t0 (id BIGINT NOT NULL PRIMARY KEY AUTO_INCREMENT, a INT UNIQUE, b INT)",
				"CREATE TABLE s (x INT, y INT)", "INSERT INTO s VALUES (20, 1), (21, 2), (20, 3), (22, 9), (23, 5), (23, 6)")
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
			for _, q := range hintedInserts {
				got := insertedBy(db, q.query, prepared, q.args)
				want := insertedBy(s.Raw, strings.Replace(q.query, " t ", " t0 ", 1), prepared, q.args)
				if strings.Contains(q.query, "=0.01") && (got.err == nil) != (want.err == nil) {
					harness.Must(t, s.Raw, "DELETE FROM t WHERE a IS NULL", "DELETE FROM t0 WHERE a IS NULL")
					continue
				}
				if got.of(t, s.Raw, "t") != want.of(t, s.Raw, "t0") {
					t.Errorf("%s, prepared %v: %s; want %s", q.query, prepared, got.of(t, s.Raw, "t"), want.of(t, s.Raw, "t0"))
				}
				stored, plain := harness.RowsOf(t, s.Raw, "SELECT a, b FROM t ORDER BY a"), harness.RowsOf(t, s.Raw, "SELECT a, b FROM t0 ORDER BY a")
				if !slices.Equal(stored, plain) {
					t.Fatalf("%s, prepared %v: stored %q, want %q", q.query, prepared, stored, plain)
				}
			}
			if n := harness.RowsOf(t, s.Raw, "SELECT COUNT(*) FROM t"); n[0] == "0" {
				t.Fatal("no row was stored")
			}
		}
	})
}

// inserted is the result of an INSERT.
type inserted struct {
	affected, id int64
	err          error
}

// insertedBy executes an INSERT, prepared or not.
func insertedBy(db *sql.DB, query string, prepared bool, args []any) (in inserted) {
	var res sql.Result
	if prepared {
		var stmt *sql.Stmt
		if stmt, in.err = db.Prepare(query); in.err == nil {
			defer stmt.Close()
			res, in.err = stmt.Exec(args...)
		}
	} else {
		res, in.err = db.Exec(query, args...)
	}
	if in.err == nil {
		in.affected, _ = res.RowsAffected()
		in.id, _ = res.LastInsertId()
	}
	return in
}

// of returns it with the row of the key instead of the key.
func (in inserted) of(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	if my := (*mysql.MySQLError)(nil); errors.As(in.err, &my) {
		return fmt.Sprint("error ", my.Number)
	} else if in.err != nil {
		return in.err.Error()
	}
	row := "no row"
	if in.id != 0 {
		row = fmt.Sprint("row ", harness.RowsOf(t, db, fmt.Sprintf("SELECT a FROM %s WHERE id = %d", table, in.id)))
	}
	return fmt.Sprintf("%d affected, %s", in.affected, row)
}

// TestStatementSettingJoined: SET STATEMENT leaves an open transaction open, so that keys
// that belong to it are drawn after it and by it.
func TestStatementSettingJoined(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		c := harness.ConnOf(t, tablesOfTransactions(t, s))
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			harness.Must(t, c, "BEGIN", "SET STATEMENT max_statement_time=100 FOR INSERT INTO t (a) VALUES (1)",
				"INSERT INTO t (a) VALUES (2)", "SET STATEMENT max_statement_time=100 FOR SELECT 1",
				"SET STATEMENT lock_wait_timeout=50 FOR INSERT INTO t (a) VALUES (3), (4)", end)
		}
		if got := harness.RowsOf(t, s.Raw, "SELECT COUNT(*), MAX(id) - MIN(id) FROM t"); !slices.Equal(got, []string{"[{4 true} {3 true}]"}) {
			t.Errorf("stored %q, want 4 rows without a gap", got)
		}
		harness.Must(t, c, "BEGIN", "SET STATEMENT max_statement_time=100 FOR COMMIT")
		if _, err := c.ExecContext(context.Background(), "SET STATEMENT max_statement_time=100 FOR INSERT INTO t (a) VALUES (5)"); err != nil {
			t.Errorf("behind a COMMIT, outside of a transaction: %v", err)
		}
		if got := harness.RowsOf(t, s.Raw, "SELECT COUNT(DISTINCT id), COUNT(*) FROM t"); !slices.Equal(got, []string{"[{5 true} {5 true}]"}) {
			t.Errorf("stored %q, want 5 rows", got)
		}
	})
}
