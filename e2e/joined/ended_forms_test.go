package joined_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestProofForms: with the proof in it an INSERT stores and returns the same as without,
// whatever its form and path, and one that brings its key needs no transaction.
//
//deviation:keys-of-a-transaction | To prove an open transaction the key is written `IF(@@in_transaction = 1, ?, 9223372036854775807 + 1)`, and the numbering is changed where `@@in_transaction = 1`. With `binlog_format = STATEMENT` each makes a note 1592. | MariaDB | `SHOW WARNINGS` | `binlog_format = ROW`
func TestProofForms(t *testing.T) {
	t.Parallel()
	off := harness.MySQLDefault
	off.Name, off.Params = "mysql-autocommit-off", "autocommit=0"
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, off}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "SET autocommit = 1")
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)", "CREATE TABLE x (id VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY, a INT)",
			"CREATE TABLE m (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.CreateLines(t, s)
		cfg := allOfTransactions()
		cfg.Tables["t"].InPlace.Start = 1<<53 + 1
		cfg.Tables["x"] = policy.Table{Column: "id", Layout: dialect.SequentialAsString, InPlace: harness.JoinedSource()}
		cfg.Tables["x"].InPlace.Start = 1
		db, _ := s.Open(t, cfg)
		c := harness.ConnOf(t, db)
		ctx := context.Background()
		first := int64(1<<53 + 1)
		next := first
		for _, begins := range []bool{true, false} {
			if begins {
				harness.Must(t, c, "BEGIN")
			}
			for _, q := range []struct {
				query string
				args  []any
				rows  int64
			}{
				{"INSERT INTO t (a) VALUES (1)", nil, 1},
				{"INSERT INTO t (a) VALUES (?), (?)", []any{1, 2}, 2},
				{"INSERT INTO t SET a = ?", []any{1}, 1},
				{"REPLACE INTO t (a) VALUES (1), (2)", nil, 2},
				{"INSERT INTO t (id, a) VALUES (NULL, 1), (0, 2), (DEFAULT, 3)", nil, 3},
				{"INSERT INTO t (id, a) VALUES (?, ?), (?, 2)", []any{nil, 1, 0}, 2},
				{"INSERT INTO t (id, a) VALUES (CAST(? AS SIGNED), 1)", []any{nil}, 1},
			} {
				for _, prepared := range []bool{false, true} {
					what := fmt.Sprintf("%s, prepared %v, in a transaction %v", q.query, prepared, begins)
					res, err := c.ExecContext(ctx, q.query, q.args...)
					if prepared {
						stmt, prepare := c.PrepareContext(ctx, q.query)
						if prepare != nil {
							t.Fatalf("%s: %v", what, prepare)
						}
						next += q.rows
						res, err = stmt.ExecContext(ctx, q.args...)
						stmt.Close()
					}
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if id, err := res.LastInsertId(); err != nil || id != next {
						t.Errorf("%s: the key is %d, %v, want %d", what, id, err, next)
					}
					next += q.rows
				}
			}
			// A key of its own, with and without a transaction, by a statement that
			// has filled one before.
			stmt, err := c.PrepareContext(ctx, "INSERT INTO t (id, a) VALUES (?, ?)")
			if err != nil {
				t.Fatal(err)
			}
			own := int64(100)
			if begins {
				own = 200
			}
			for _, id := range []any{own, nil, own + 1} {
				if _, err := stmt.ExecContext(ctx, id, 1); err != nil {
					t.Errorf("%v: %v", id, err)
				}
			}
			next++
			stmt.Close()
			harness.Must(t, c, "INSERT INTO order_lines (order_id, item) VALUES (1, 'a')", "INSERT IGNORE INTO m (a) VALUES (1)", "INSERT INTO x (a) VALUES (1), (2)")
			harness.Must(t, c, "COMMIT")
		}
		want := []int64{100, 101, 200, 201}
		for id := first; id < next; id++ {
			want = append(want, id)
		}
		harness.Must(t, s.Raw, "COMMIT")
		s.WantNumbers(t, want...)
		if got := strings.Join(harness.KeysOf(t, s.Raw, ctx, "SELECT id FROM x ORDER BY 1"), " "); got != "1 2 3 4" {
			t.Errorf("x has %s", got)
		}
		if got := linesIn(t, s); got != "1/1 1/2" {
			t.Errorf("lines are %s", got)
		}
	})
}

// TestProofOnce: on PostgreSQL the setting that proves a transaction is set once in it,
// and once more after a rollback to a savepoint.
//
//deviation:keys-of-a-transaction | To prove an open transaction the setting `keyfill.tx` is `1` in a transaction that has drawn a key: one statement more a transaction. It stays in the session as an empty text. | PostgreSQL | `SELECT current_setting('keyfill.tx', true)` | –
func TestProofOnce(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
	seen := new(harness.Spy)
	db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, seen), As: s.Connector.Driver()}, harness.JoinedID("t"))
	harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
	marks := func() (n int) {
		for _, q := range seen.All() {
			if strings.Contains(q, "set_config('keyfill.tx'") {
				n++
			}
		}
		return n
	}
	if n := marks(); n != 0 {
		t.Errorf("%d in a transaction of our own", n)
	}
	err := harness.InTx(db, func(tx *sql.Tx) error {
		harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (2)", "SAVEPOINT mine", "INSERT INTO t (a) VALUES (3)")
		if n := marks(); n != 1 {
			t.Errorf("%d in front of the rollback", n)
		}
		harness.Must(t, tx, "ROLLBACK TO SAVEPOINT mine", "INSERT INTO t (a) VALUES (3)", "INSERT INTO t (a) VALUES (4)")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := marks(); n != 2 {
		t.Errorf("%d in all", n)
	}
	s.WantNumbers(t, 1, 2, 3, 4, 5)
}
