package e2e_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreFinal: what the engine refuses for good is told at once, with what to do,
// and not as a store that does not answer; and what was set right is found so.
func TestStoreFinal(t *testing.T) {
	mysql, postgres := []engine{mysqlDefault, mysqlGerman}, []engine{pgxDefault, pqDefault}
	all := append(mysql[:2:2], postgres...)
	for _, c := range []struct {
		name          string
		engines       []engine
		breaks, mends []string
		means         error
	}{
		{"dropped", all, []string{"DROP TABLE keyfill_sequences"}, nil, store.ErrTables},
		{"renamed", all, []string{"ALTER TABLE keyfill_sequences RENAME TO elsewhere"}, []string{"ALTER TABLE elsewhere RENAME TO keyfill_sequences"}, store.ErrTables},
		{"a column is gone", all, []string{"ALTER TABLE keyfill_sequences DROP COLUMN incarnation"}, nil, store.ErrTables},
		{"a constraint", all, []string{"ALTER TABLE keyfill_sequences ADD CONSTRAINT small CHECK (next_value < 4)"}, []string{"ALTER TABLE keyfill_sequences DROP CONSTRAINT small"}, store.ErrAltered},
		{"read-only", postgres, []string{"DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET default_transaction_read_only = on'; END $$", endOthers},
			[]string{"SET default_transaction_read_only = off", "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' RESET default_transaction_read_only'; END $$", endOthers}, store.ErrReadOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, c.engines, func(t *testing.T, s *scratch) {
				exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				for _, q := range store.DDL(s.dialect) {
					exec(t, s.raw, q)
				}
				db, _ := s.open(t, fillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}}))
				insert := s.placeholders("INSERT INTO t (a) VALUES (?)")
				exec(t, db, insert, 1)
				exec(t, db, insert, 2)
				admin := connOf(t, s.raw)
				must(t, admin, c.breaks...)
				for range 3 {
					_, err := db.Exec(insert, 3)
					if !errors.Is(err, c.means) || !errors.Is(err, keysource.ErrStoreState) || errors.Is(err, keysource.ErrStoreDown) {
						t.Errorf("%v, want %v", err, c.means)
					}
				}
				if c.mends == nil {
					return
				}
				must(t, admin, c.mends...)
				eventually(t, func() error {
					_, err := db.Exec(insert, 4)
					return err
				})
			})
		})
	}
}

// endOthers ends the connections of the others to the database, as settings of a
// database are read when a connection begins.
const endOthers = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

// TestStoreLogin: a store whose server refuses the account or has no such database
// says so at once.
func TestStoreLogin(t *testing.T) {
	mariadb.Need(t)
	postgresql.Need(t)
	for _, c := range []struct {
		driver, dsn string
		d           *dialect.Dialect
		means       error
	}{
		{"mysql", "nobody:s3cr3tPw@tcp(" + mariadb.Addr() + ")/mysql", dialect.MySQL(), store.ErrLogin},
		{"mysql", mariadb.DSN("nosuch_database"), dialect.MySQL(), store.ErrNoDatabase},
		{"pgx", "postgres://nobody:s3cr3tPw@" + postgresql.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), store.ErrLogin},
		{"pgx", postgresql.DSN("nosuch_database"), dialect.PostgreSQL(), store.ErrNoDatabase},
		{"postgres", "postgres://nobody:s3cr3tPw@" + postgresql.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), store.ErrLogin},
		{"postgres", postgresql.DSN("nosuch_database"), dialect.PostgreSQL(), store.ErrNoDatabase},
	} {
		s := sqliteFile.scratch(t)
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		for _, source := range []policy.Source{
			{Kind: policy.KindSequence, Store: "central", EnsureSchema: true, Start: 1},
			{Kind: policy.KindRecycled, Store: "central", EnsureSchema: true},
			{Kind: policy.KindSnowflake, Store: "central", EnsureSchema: true, WorkerLease: time.Minute},
		} {
			db, _ := s.open(t, &policy.Config{
				Stores:  map[string]policy.Store{"central": {Driver: c.driver, DSN: c.dsn}},
				Sources: map[string]policy.Source{"numbers": source},
				Tables:  map[string]policy.Table{"t": {Column: "id", Source: "numbers"}},
			})
			_, err := db.ExecContext(t.Context(), "INSERT INTO t (a) VALUES (?)", 1)
			if !errors.Is(err, c.means) || errors.Is(err, keysource.ErrStoreDown) {
				t.Errorf("%s, %s: %v, want %v", c.driver, source.Kind, err, c.means)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3tPw") {
				t.Errorf("%s: the password is told: %v", c.driver, err)
			}
		}
	}
}

// eventually repeats what may fail for a while, and not for ever.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
