package joined_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestBehindDDL: on MySQL and MariaDB DDL commits implicitly, also if it fails after
// that: the engine is asked whether a transaction is open then, so that a program that
// migrates at its start has keys of transactions.
//
//deviation:keys-of-a-transaction | After DDL the savepoint `keyfill_proof` finds out whether a transaction is open. | MySQL, MariaDB | `CREATE TABLE …` | –
func TestBehindDDL(t *testing.T) {
	t.Parallel()
	asMySQL := mysqlAsMySQL
	asMySQL.Params = ""
	harness.Each(t, []harness.Engine{harness.MySQLDefault, asMySQL}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)", "CREATE TABLE m (id BIGINT NOT NULL PRIMARY KEY, a INT)",
			"CREATE TABLE p (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (7), (8)")
		harness.CreateLines(t, s)
		cfg := allOfTransactions()
		cfg.Dialect = s.Dialect.Name
		cfg.Tables["p"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}
		db, _ := s.Open(t, cfg)
		ctx := context.Background()
		rows := 0
		for _, query := range []string{
			"CREATE TABLE x (id INT)", "ALTER TABLE x ADD COLUMN b INT", "CREATE INDEX i ON x (b)", "TRUNCATE TABLE x", "DROP TABLE x",
			"ANALYZE TABLE t", "SET DEFAULT ROLE NONE",
			"ALTER TABLE none ADD COLUMN b INT", "CREATE TABLE t (id INT)", "DROP nonsense", // fail
			"CREATE TEMPORARY TABLE tx (id INT)", "DROP TEMPORARY TABLE tx",
		} {
			for _, begins := range []bool{false, true} {
				c := harness.ConnOf(t, db)
				if begins {
					harness.Must(t, c, "BEGIN", "INSERT INTO t (a) VALUES (1)")
				}
				_, failed := c.ExecContext(ctx, query)
				// These come first: a query is counted before its INSERT, also where it is
				// not known whether a transaction is open.
				harness.Must(t, c, "INSERT INTO p (a) SELECT MAX(a) FROM s", "INSERT INTO p (a) SELECT ROW_NUMBER() OVER (ORDER BY a) FROM s")
				harness.Must(t, c, "INSERT INTO t (a) VALUES (2)", "INSERT INTO m (a) VALUES (2)", "INSERT INTO order_lines (order_id) VALUES (2)")
				inside := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM m") == rows
				harness.Must(t, c, "ROLLBACK")
				kept := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM m")
				switch {
				case inside && kept != rows, !inside && kept != rows+1:
					t.Errorf("%s (%v): %d rows, %d before", query, failed, kept, rows)
				case !begins && inside:
					t.Errorf("%s: a transaction is open that nobody has begun", query)
				}
				rows = kept
				if want := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); s.Next(t, "t.id") != want+1 {
					t.Errorf("%s: the next number is %d behind %d rows", query, s.Next(t, "t.id"), want)
				}
				c.Close()
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM p WHERE a IN (8, 1, 2)"); n != 3*rows {
			t.Errorf("%d rows of queries are stored behind DDL, want %d", n, 3*rows)
		}
		if rows < 15 {
			t.Errorf("%d rows are stored behind DDL", rows)
		}
	})
}
