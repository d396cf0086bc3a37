package keys_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestKeyTableNarrow: of a key table whose column ends before the keys' does, no
// key is handed out that was not reserved in it: after the column has been made
// wider, another program begins there.
func TestKeyTableNarrow(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"", policy.LockOptimistic} {
		t.Run("lock "+lock, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE serials (serial SMALLINT NOT NULL)")
				harness.Exec(t, s.Raw, "INSERT INTO serials VALUES (32760)")
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				db, _ := s.Open(t, harness.KeyKind{Source: policy.Source{Kind: policy.KindSequence, Lock: lock, Block: 100,
					Table: &policy.KeyTable{Name: "serials", Value: "serial", Stored: policy.StoredNext}}}.Config(s.Engine))
				var err error
				for range 20 {
					if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
						break
					}
				}
				if !errors.Is(err, keysource.ErrExhausted) {
					t.Errorf("at the end: %v, want ErrExhausted", err)
				}
				next := harness.CountInt(t, s.Raw, "SELECT serial FROM serials")
				if greatest := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); next != 32767 || greatest != 32766 {
					t.Errorf("the table says that %d is next, and the greatest key is %d", next, greatest)
				}
			})
		})
	}
}

// TestNativeAltered: a value for which a process has waited while the increment
// was changed does not stand for a block of the increment before.
func TestNativeAltered(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		ctx := t.Context()
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers INCREMENT BY 50")
		r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: "numbers", Block: 50})
		if _, err := r.Reserve(ctx, 50, 0); err != nil {
			t.Fatal(err)
		}
		tx, err := s.Raw.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("ALTER SEQUENCE numbers INCREMENT BY 1 RESTART WITH 5001"); err != nil {
			t.Fatal(err)
		}
		answer := make(chan error, 1)
		go func() {
			_, err := r.Reserve(ctx, 50, 0)
			answer <- err
		}()
		waiting := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
		harness.Eventually(t, func() error {
			if harness.CountInt(t, s.Raw, waiting) == 0 {
				return errors.New("nobody waits for the sequence")
			}
			return nil
		})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; !errors.Is(err, store.ErrIncrement) {
			t.Errorf("Reserve: %v, want ErrIncrement", err)
		}
	})
}

// TestColumnsThatBend: a column that makes something else of what it cannot hold,
// without an error, would make one key of many.
func TestColumnsThatBend(t *testing.T) {
	t.Parallel()
	sources := []policy.Source{
		{Kind: policy.KindComposite, Worker: harness.NewWorker()},
		{Kind: policy.KindCoprime, Length: 3, EnsureSchema: true},
	}
	integers := append(sources, policy.Source{Kind: policy.KindSequence, EnsureSchema: true})
	for _, c := range []struct {
		harness.Engine
		columns []string
		sources []policy.Source
	}{
		{harness.SQLiteFile, []string{"NUMERIC", "STRING", "DECIMAL(20)", "DATETIME"}, sources},
		{harness.MySQLDefault, []string{"BIT(3)", "ENUM('1', '2')", "DATETIME", "DECIMAL(5,2)"}, integers},
	} {
		for _, column := range c.columns {
			for _, source := range c.sources {
				t.Run(fmt.Sprint(c.Name, "/", column, "/", source.Kind), func(t *testing.T) {
					s := c.Scratch(t)
					harness.Exec(t, s.Raw, "CREATE TABLE t (id "+column+", a INT)")
					db, _ := s.Open(t, harness.KeyKind{Source: source}.Config(s.Engine))
					if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, catalog.ErrType) {
						t.Errorf("Exec: %v, want ErrType", err)
					}
				})
			}
		}
	}
}

// TestNativeBelowOne: a sequence whose values are no keys is named as the cause.
func TestNativeBelowOne(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers MINVALUE 0 START WITH 0")
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, nativeID(s.Engine, "numbers", 1))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrBelowOne) {
			t.Errorf("Exec: %v, want ErrBelowOne", err)
		}
	})
}

// TestProcedureBelowOne: so is a procedure that answers what is no key.
func TestProcedureBelowOne(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		define := "CREATE PROCEDURE numbers(n VARCHAR(100), c BIGINT) SELECT 0"
		if s.IsPostgres() {
			define = "CREATE FUNCTION numbers(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'"
		}
		harness.Exec(t, s.Raw, define)
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.KeyKind{Source: policy.Source{Kind: policy.KindSequence, Via: policy.ViaProcedure, Procedure: "numbers"}}.Config(s.Engine))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrProcedure) {
			t.Errorf("Exec: %v, want ErrProcedure", err)
		}
	})
}
