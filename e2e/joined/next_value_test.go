package joined_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestNextValueBelowOne: a row whose next value is no number is an error that names it,
// its value and the remedy, whatever draws from it.
func TestNextValueBelowOne(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]policy.Source{
		"block":    harness.Counted(nil),
		"joined":   harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }),
		"recycled": harness.Mapped(policy.KindRecycled, nil),
		"lease":    harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }),
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				if s.Server == nil && src.WorkerLease > 0 {
					return
				}
				harness.CreateIDs(t, s, "t")
				db, _ := s.Open(t, harness.InPlace(src))
				harness.Exec(t, db, harness.InsertT)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				for _, value := range []string{"-5", "0"} {
					harness.Exec(t, s.Raw, "DELETE FROM t")
					harness.Exec(t, s.Raw, "DELETE FROM keyfill_series")
					harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = "+value+" WHERE parameters <> 'binding'")
					db, _ = s.Open(t, harness.InPlace(src))
					_, err := db.Exec(harness.InsertT)
					if err == nil {
						t.Fatalf("%s: it was filled", value)
					}
					for _, part := range []string{`"t.id`, " " + value, "next_value", "UPDATE keyfill_sequences"} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("%s: %v: does not say %s", value, err, part)
						}
					}
					if !errors.Is(err, keysource.ErrStoreState) || !errors.Is(err, store.ErrNextValue) {
						t.Errorf("%s: %v, want %v", value, err, store.ErrNextValue)
					}
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
						t.Errorf("%s: %d rows", value, n)
					}
				}
			})
		})
	}
}

// TestJoinedSnapshot: the first joined INSERT of a transaction that has read before
// the row of the numbering was made fails with the engine's own error, after which the
// transaction is sent again, and with no error about a row that has to be made. The
// second transaction finds the row. One that BeginTx has begun does so at once.
//
//deviation:integer-keys | With joined numbers keyfill creates its tables and rows before the first transaction of a process, and looks at up to 16 of the numbered tables, on a connection of its own and for two seconds at most. | all but SQLite | `BeginTx` with `transaction: joined` in the policy | a policy without them
//deviation:keys-of-a-transaction | In a transaction that sees the database as it was at its beginning, an INSERT with a key of its transaction is an error of the engine if another transaction has committed a number since. | PostgreSQL; MariaDB with innodb_snapshot_isolation | REPEATABLE READ; errors 40001, 1020, 1412 | READ COMMITTED
//deviation:keys-of-a-transaction | In a transaction with a snapshot, an INSERT is an error of the engine if it is the first to need `keyfill_sequences` (MariaDB, MySQL) or its source's row (PostgreSQL), since another connection creates these. | PostgreSQL; MySQL, MariaDB | REPEATABLE READ; error 1412 | a first INSERT under READ COMMITTED
func TestJoinedSnapshot(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u")
		db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined })))
		changed := sqlcode.Code{Number: 1412} // the table of the row is newer than the snapshot
		if s.IsPostgres() {
			changed = sqlcode.Code{State: "40001"}
		}
		begin := "START TRANSACTION"
		if s.IsPostgres() {
			begin = "BEGIN ISOLATION LEVEL REPEATABLE READ"
		}
		conn := harness.ConnOf(t, db)
		for _, want := range []sqlcode.Code{changed, {}} {
			if _, err := conn.ExecContext(t.Context(), begin); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM u").Scan(&n); err != nil {
				t.Fatal(err)
			}
			_, err := conn.ExecContext(t.Context(), harness.InsertT)
			code, answered := sqlcode.Of(err)
			if code != want || answered != (want != sqlcode.Code{}) || (err != nil) != answered {
				t.Errorf("%v: the code %+v, want %+v", err, code, want)
			}
			if err != nil && strings.Contains(err.Error(), "no row") {
				t.Error(err)
			}
			if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		harness.Exec(t, db, harness.InsertT)

		harness.Exec(t, s.Raw, "DROP TABLE keyfill_sequences")
		db, _ = s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined })))
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM u").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(harness.InsertT); err != nil {
			t.Errorf("the row was not made before the transaction: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestJoinedSnapshotOfAMadeRow: the same where only others make rows: the error is
// keyfill's, with the code that the engine has for a transaction that is sent again.
func TestJoinedSnapshotOfAMadeRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u")
		joined := func(makes bool) *sql.DB {
			db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
				s.Block, s.Transaction, s.Create = 0, policy.TransactionJoined, &makes
			})))
			return db
		}
		db := joined(false)
		var early []*sql.Tx
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := tx.QueryRow("SELECT COUNT(*) FROM u").Scan(&n); err != nil {
				t.Fatal(err)
			}
			early = append(early, tx)
		}
		other, err := joined(true).Begin() // the row commits apart from it
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(harness.InsertT); err != nil {
			t.Fatal(err)
		}
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
		for _, tx := range early {
			_, err := tx.Exec(harness.InsertT)
			if code, _ := sqlcode.Of(err); code.State != "40001" {
				t.Errorf("%v: the code %+v, want 40001", err, code)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		harness.Exec(t, db, harness.InsertT)
	})
}
