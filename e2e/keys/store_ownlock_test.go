package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// ownLocks are statements of PostgreSQL after which a transaction holds a lock that
// other connections wait for when they read the table t, or draw from its sequence.
var ownLocks = map[string]string{
	"truncate":       "TRUNCATE t",
	"restart":        "TRUNCATE t RESTART IDENTITY",
	"lock":           "LOCK TABLE t IN ACCESS EXCLUSIVE MODE",
	"alter-table":    "ALTER TABLE t ADD b INT",
	"alter-sequence": "ALTER SEQUENCE t_id_seq RESTART WITH 1000",
	"do":             "DO $$ BEGIN EXECUTE 'TRUNCATE t RESTART IDENTITY'; END $$",
	"function":       "SELECT emptied()",
}

// ownLockSources are sources that read the table, or draw from its sequence.
func ownLockSources() map[string]policy.Source {
	exclusive := func(kind string, change func(*policy.Source)) policy.Source {
		return harness.Mapped(kind, func(s *policy.Source) {
			s.Exclusive = true
			if change != nil {
				change(s)
			}
		})
	}
	return map[string]policy.Source{
		"native":           {Kind: policy.KindNative},
		"native-named":     {Kind: policy.KindNative, Sequence: "t_id_seq"},
		"native-exclusive": {Kind: policy.KindNative, Exclusive: true},
		"sequence":         exclusive(policy.KindSequence, nil),
		"sequence-one":     exclusive(policy.KindSequence, func(s *policy.Source) { s.Block = 1 }),
		"sequence-advance": exclusive(policy.KindSequence, func(s *policy.Source) { s.OnBehind = keysource.RemedyAdvance }),
		"joined":           exclusive(policy.KindSequence, func(s *policy.Source) { s.Transaction = policy.TransactionJoined }),
		"recycled":         exclusive(policy.KindRecycled, nil),
		"snowflake":        exclusive(policy.KindSnowflake, func(s *policy.Source) { s.Worker = harness.NewWorker() }),
		"snowflake-none":   {Kind: policy.KindSnowflake, Store: policy.StoreNone, Exclusive: true},
		"maxplusone":       exclusive(policy.KindMaxPlusOne, nil),
		"pseudorandom":     exclusive(policy.KindPseudorandom, nil),
	}
}

// TestOwnLock: an INSERT after a statement that has locked its table, or the table's
// sequence, in the same transaction does not wait for that transaction, whether the process
// has inserted before or not. If it did, it would fail after store_wait. A recycled source
// that has no series yet refuses it.
//
//deviation:integer-keys | An INSERT of a transaction that has locked its table is refused if a `recycled` source of the process has no series yet. | PostgreSQL | `BEGIN; TRUNCATE t; INSERT INTO t …` | insert before that, or in a transaction of its own
//deviation:integer-keys | In a transaction whose locks no text has shown, such as a function's, the first INSERT waits one second. Later ones draw on the transaction's own connection. | PostgreSQL | `BEGIN; SELECT f_that_truncates(); INSERT INTO t …` | `TRUNCATE` as a text of its own
func TestOwnLock(t *testing.T) {
	t.Parallel()
	for source, src := range ownLockSources() {
		for lock, text := range ownLocks {
			if source != "native" && !slices.Contains([]string{"restart", "lock", "function"}, lock) {
				continue
			}
			for before := range 2 {
				t.Run(fmt.Sprintf("%s/%s/%d", source, lock, before), func(t *testing.T) {
					t.Parallel()
					s := harness.PgxDefault.Scratch(t)
					harness.Must(t, s.Raw, "CREATE TABLE t (id BIGSERIAL PRIMARY KEY, a INT)",
						"CREATE FUNCTION emptied() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN TRUNCATE t RESTART IDENTITY; RETURN 1; END $$")
					if src.Store == policy.StoreNone {
						src.Worker = harness.NewWorker()
					}
					cfg := harness.InPlace(src)
					cfg.StoreWait = 30 * time.Second
					db, _ := s.Open(t, cfg)
					for range before {
						harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)")
					}
					ctx, cancel := context.WithTimeout(t.Context(), harness.Limit)
					defer cancel()
					err := harness.InTx(db, func(tx *sql.Tx) error {
						harness.Must(t, tx, text)
						for range 2 {
							if _, err := tx.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
								return err
							}
						}
						return nil
					})
					if src.Kind == policy.KindRecycled && before == 0 {
						if err == nil || !strings.Contains(err.Error(), "held-connection") {
							t.Errorf("a series is opened: %v", err)
						}
					} else if err != nil {
						t.Error(err)
					}
					harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
				})
			}
		}
	}
}

// TestNativeResetInside: in a transaction that has reset the counter its own numbers are
// those that plain gives, and after it, or after a rollback of it, those that the counter
// gives then.
func TestNativeResetInside(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 1)
		harness.Exec(t, s.Raw, "ALTER SEQUENCE numbers OWNED BY t.id")
		db, log := openNative(t, s, "", 1)
		tx := func(texts ...string) {
			t.Helper()
			if err := harness.InTx(db, func(tx *sql.Tx) error {
				harness.Must(t, tx, texts...)
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		wants := func(want ...int64) {
			t.Helper()
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (9)")
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, want) {
				t.Errorf("the keys are %v, want %v", got, want)
			}
		}
		const insert = "INSERT INTO t (a) VALUES (1), (2)"
		tx("TRUNCATE t RESTART IDENTITY", insert)
		wants(1, 2, 3)
		tx("TRUNCATE t RESTART IDENTITY", insert, insert)
		wants(1, 2, 3, 4, 5)
		undone := errors.New("undone")
		if err := harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, "TRUNCATE t RESTART IDENTITY", insert)
			return undone
		}); err != undone {
			t.Error(err)
		}
		wants(1, 2, 3, 4, 5, 6)
		tx("SAVEPOINT a", "TRUNCATE t RESTART IDENTITY", insert, "ROLLBACK TO a", insert)
		wants(1, 2, 3, 4, 5, 6, 7, 8, 9)
		tx("ALTER SEQUENCE numbers RESTART WITH 100", insert)
		wants(1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 101, 102)
		if lines := log.take(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// TestNativeBlocksInside: a transaction that has locked the table uses the block in hand.
// After one that has reset the counter, what is left of that block is given up, since other
// programs get it again.
func TestNativeBlocksInside(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 50)
		db, _ := openNative(t, s, "numbers", 50)
		tx := func(text string) {
			t.Helper()
			if err := harness.InTx(db, func(tx *sql.Tx) error {
				harness.Must(t, tx, text, "INSERT INTO t (a) VALUES (1)")
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		last := func(want int64) {
			t.Helper()
			if got := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); got != want {
				t.Errorf("the key is %d, want %d", got, want)
			}
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		tx("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
		last(2)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		last(3)
		tx("ALTER SEQUENCE numbers RESTART WITH 1001")
		last(4)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		last(1001)
	})
}
