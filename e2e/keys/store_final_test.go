package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreFinal: a final refusal of the engine is an error at once, with the remedy, and
// not a store that does not answer; and a repair is noticed.
//
//deviation:integer-keys | If the store's server refuses for good (a dropped or altered table, missing rights, read only, a wrong password), the INSERT is an error of keyfill at once. keyfill asks the store again once a second. | all | `errors.Is(err, keysource.ErrStoreRefused)` | –
func TestStoreFinal(t *testing.T) {
	t.Parallel()
	mysql, postgres := []harness.Engine{harness.MySQLDefault, harness.MySQLGerman}, []harness.Engine{harness.PgxDefault, harness.PQDefault}
	all := append(mysql[:2:2], postgres...)
	for _, c := range []struct {
		name          string
		engines       []harness.Engine
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
			harness.Each(t, c.engines, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				for _, q := range store.DDL(s.Dialect) {
					harness.Exec(t, s.Raw, q)
				}
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}}))
				insert := s.Placeholders("INSERT INTO t (a) VALUES (?)")
				harness.Exec(t, db, insert, 1)
				harness.Exec(t, db, insert, 2)
				admin := harness.ConnOf(t, s.Raw)
				harness.Must(t, admin, c.breaks...)
				for range 3 {
					_, err := db.Exec(insert, 3)
					if !errors.Is(err, c.means) || !errors.Is(err, keysource.ErrStoreState) || errors.Is(err, keysource.ErrStoreDown) {
						t.Errorf("%v, want %v", err, c.means)
					}
				}
				if c.mends == nil {
					return
				}
				harness.Must(t, admin, c.mends...)
				harness.Eventually(t, func() error {
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
	t.Parallel()
	harness.MariaDB.Need(t)
	harness.PostgreSQL.Need(t)
	for _, c := range []struct {
		driver, dsn string
		d           *dialect.Dialect
		means       error
	}{
		{"mysql", "nobody:s3cr3tPw@tcp(" + harness.MariaDB.Addr() + ")/mysql", dialect.MySQL(), store.ErrLogin},
		{"mysql", harness.MariaDB.DSN("nosuch_database"), dialect.MySQL(), store.ErrNoDatabase},
		{"pgx", "postgres://nobody:s3cr3tPw@" + harness.PostgreSQL.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), store.ErrLogin},
		{"pgx", harness.PostgreSQL.DSN("nosuch_database"), dialect.PostgreSQL(), store.ErrNoDatabase},
		{"postgres", "postgres://nobody:s3cr3tPw@" + harness.PostgreSQL.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), store.ErrLogin},
		{"postgres", harness.PostgreSQL.DSN("nosuch_database"), dialect.PostgreSQL(), store.ErrNoDatabase},
	} {
		s := harness.SQLiteFile.Scratch(t)
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		for _, source := range []policy.Source{
			{Kind: policy.KindSequence, Store: "central", EnsureSchema: true, Start: 1},
			{Kind: policy.KindRecycled, Store: "central", EnsureSchema: true},
			{Kind: policy.KindSnowflake, Store: "central", EnsureSchema: true, WorkerLease: time.Minute},
		} {
			db, _ := s.Open(t, &policy.Config{
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
