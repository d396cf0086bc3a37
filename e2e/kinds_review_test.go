package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestKeyTableNarrow: of a key table whose column ends before the keys' does, no
// key is handed out that was not reserved in it: after the column has been made
// wider, another program begins there.
func TestKeyTableNarrow(t *testing.T) {
	for _, lock := range []string{"", policy.LockOptimistic} {
		t.Run("lock "+lock, func(t *testing.T) {
			each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
				exec(t, s.raw, "CREATE TABLE serials (serial SMALLINT NOT NULL)")
				exec(t, s.raw, "INSERT INTO serials VALUES (32760)")
				exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				db, _ := s.open(t, keyKind{source: policy.Source{Kind: policy.KindSequence, Lock: lock, Block: 100,
					Table: &policy.KeyTable{Name: "serials", Value: "serial", Stored: policy.StoredNext}}}.config(s.engine))
				var err error
				for range 20 {
					if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
						break
					}
				}
				if !errors.Is(err, keysource.ErrExhausted) {
					t.Errorf("at the end: %v, want ErrExhausted", err)
				}
				next := countInt(t, s.raw, "SELECT serial FROM serials")
				if greatest := countInt(t, s.raw, "SELECT MAX(id) FROM t"); next != 32767 || greatest != 32766 {
					t.Errorf("the table says that %d is next, and the greatest key is %d", next, greatest)
				}
			})
		})
	}
}

// TestNativeAltered: a value for which a process has waited while the increment
// was changed does not stand for a block of the increment before.
func TestNativeAltered(t *testing.T) {
	each(t, []engine{pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		ctx := t.Context()
		exec(t, s.raw, "CREATE SEQUENCE numbers INCREMENT BY 50")
		r := storeOf(t, s).Native(store.Native{Sequence: "numbers", Block: 50})
		if _, err := r.Reserve(ctx, 50, 0); err != nil {
			t.Fatal(err)
		}
		tx, err := s.raw.BeginTx(ctx, nil)
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
		for deadline := time.Now().Add(10 * time.Second); countInt(t, s.raw, waiting) == 0; {
			if time.Now().After(deadline) {
				t.Fatal("nobody waits for the sequence")
			}
			time.Sleep(10 * time.Millisecond)
		}
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
	sources := []policy.Source{
		{Kind: policy.KindComposite, Worker: newWorker()},
		{Kind: policy.KindCoprime, Length: 3, EnsureSchema: true},
	}
	integers := append(sources, policy.Source{Kind: policy.KindSequence, EnsureSchema: true})
	for _, c := range []struct {
		engine
		columns []string
		sources []policy.Source
	}{
		{sqliteFile, []string{"NUMERIC", "STRING", "DECIMAL(20)", "DATETIME"}, sources},
		{mysqlDefault, []string{"BIT(3)", "ENUM('1', '2')", "DATETIME", "DECIMAL(5,2)"}, integers},
	} {
		for _, column := range c.columns {
			for _, source := range c.sources {
				t.Run(fmt.Sprint(c.name, "/", column, "/", source.Kind), func(t *testing.T) {
					s := c.scratch(t)
					exec(t, s.raw, "CREATE TABLE t (id "+column+", a INT)")
					db, _ := s.open(t, keyKind{source: source}.config(s.engine))
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
	each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE SEQUENCE numbers MINVALUE 0 START WITH 0")
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, nativeID(s.engine, "numbers", 1))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrBelowOne) {
			t.Errorf("Exec: %v, want ErrBelowOne", err)
		}
	})
}

// TestProcedureBelowOne: so is a procedure that answers what is no key.
func TestProcedureBelowOne(t *testing.T) {
	each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		define := "CREATE PROCEDURE numbers(n VARCHAR(100), c BIGINT) SELECT 0"
		if s.isPostgres() {
			define = "CREATE FUNCTION numbers(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'"
		}
		exec(t, s.raw, define)
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, keyKind{source: policy.Source{Kind: policy.KindSequence, Via: policy.ViaProcedure, Procedure: "numbers"}}.config(s.engine))
		if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, store.ErrProcedure) {
			t.Errorf("Exec: %v, want ErrProcedure", err)
		}
	})
}
