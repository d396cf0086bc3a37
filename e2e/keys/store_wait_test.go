package keys_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreWaitLocked: an INSERT that has to look at a table that another transaction has
// locked waits for store_wait, and no longer. The error names the time that was waited
// for. See TestOwnLock for a lock of the INSERT's own transaction.
func TestStoreWaitLocked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, locked string
		source       *policy.Source
	}{
		{"joined", "keyfill_sequences", harness.JoinedSource()},
		{"snowflake", "t", &policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
				source := *c.source
				if source.Kind == policy.KindSnowflake { // each engine has a number of its own
					source.Worker = harness.NewWorker()
				}
				var err error
				wait := 1250 * time.Millisecond
				// Where the time was up before the INSERT came to the lock, the next one has more.
				for ; wait < 2*time.Minute; wait *= 4 {
					cfg := harness.FillID("t", policy.Table{InPlace: &source})
					cfg.StoreWait = wait
					if err = insertLocked(t, s, cfg, c.locked); err == nil || !strings.Contains(err.Error(), "the catalog cannot be read") {
						break
					}
				}
				if err == nil || !strings.Contains(err.Error(), wait.String()) {
					t.Errorf("%v, want an error that names store_wait", err)
				}
			})
		})
	}
}

// TestStoreWaitOwnRow: an INSERT of a transaction that has locked the row of its
// numbering waits for itself for store_wait, and fails.
//
//deviation:integer-keys | If a transaction has locked the row of its source in `keyfill_sequences`, or (not on PostgreSQL) the table, keyfill's own connection waits for the transaction, and its INSERT fails after ten seconds with an error of keyfill. | all but SQLite | `UPDATE serials SET …; INSERT INTO t …` | `transaction: joined`
func TestStoreWaitOwnRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.Blocks("t", 1)
		cfg.StoreWait = 1250 * time.Millisecond
		db, _ := s.Open(t, cfg)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		err := harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, "UPDATE keyfill_sequences SET updated_at = updated_at, next_value = next_value + 1")
			_, err := tx.Exec("INSERT INTO t (a) VALUES (1)")
			return err
		})
		if !errors.Is(err, keysource.ErrStoreDown) {
			t.Errorf("INSERT: %v", err)
		}
	})
}

// insertLocked inserts while a table is locked, and returns the error of the INSERT. Its
// transaction is begun by a text: BeginTx would open the numbering before the lock.
func insertLocked(t *testing.T, s *harness.Scratch, cfg *policy.Config, locked string) error {
	t.Helper()
	db, _ := s.Open(t, cfg)
	defer db.Close() // so that the next one may have its worker's number
	conn := harness.ConnOf(t, db)
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	locks, err := s.Raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Rollback()
	if _, err := locks.Exec("LOCK TABLE " + locked + " IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	_, err = conn.ExecContext(t.Context(), "INSERT INTO t (a) VALUES ($1)", 1)
	return err
}
