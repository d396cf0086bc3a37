package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// TestErrorClasses: the errors of real drivers are classified by their codes, in whatever
// language the server answers.
func TestErrorClasses(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile, harness.MySQLDefault, harness.MySQLGerman, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, u INT NOT NULL UNIQUE)")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, u) VALUES (1, 1)")
		for _, c := range []struct {
			query string
			want  dialect.ErrorClass
		}{
			{"INSERT INTO t (id, u) VALUES (1, 2)", dialect.ErrorDuplicate},
			{"INSERT INTO t (id, u) VALUES (2, 1)", dialect.ErrorDuplicate},
			{"INSERT INTO t (id, u) VALUES (2, NULL)", dialect.ErrorRefused},
			{"INSERT INTO nosuch (id) VALUES (2)", dialect.ErrorNoObject},
			{"INSERT INTO t (nosuch) VALUES (2)", dialect.ErrorNoObject},
		} {
			_, err := s.Raw.Exec(c.query)
			if got := sqlcode.ClassOf(s.Dialect, err); got != c.want || !sqlcode.Answered(err) {
				t.Errorf("%s: %v: class %d, answered %v; want class %d", c.query, err, got, sqlcode.Answered(err), c.want)
			}
		}
		if s.Name == harness.MySQLGerman.Name {
			if _, err := s.Raw.Exec("INSERT INTO nosuch (id) VALUES (2)"); strings.Contains(err.Error(), "doesn't exist") {
				t.Fatalf("the server answers in English: %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Raw.ExecContext(ctx, "INSERT INTO t (id, u) VALUES (9, 9)"); err == nil || sqlcode.Answered(err) {
			t.Errorf("a context that had ended: %v is taken for the engine's answer", err)
		}
	})
}

// TestErrorClassLocked: a lock that is waited for in vain.
func TestErrorClassLocked(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "sqlite3"} {
		file := "file:" + filepath.Join(t.TempDir(), "locked.db")
		var pools [2]*sql.DB
		for i := range pools {
			pools[i] = openRaw(t, driver, file)
		}
		harness.Exec(t, pools[0], "CREATE TABLE t (id INT)")
		tx, err := pools[0].Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if driver == "sqlite3" {
			harness.Exec(t, pools[1], "PRAGMA busy_timeout = 0")
		}
		_, err = pools[1].Exec("INSERT INTO t VALUES (2)")
		if got := sqlcode.ClassOf(dialect.SQLite(), err); got != dialect.ErrorLock {
			t.Errorf("%s: %v: class %d", driver, err, got)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// TestErrorClassLogin: the server refuses the account, or does not know the
// database, at the connection.
func TestErrorClassLogin(t *testing.T) {
	t.Parallel()
	harness.MariaDB.Need(t)
	harness.PostgreSQL.Need(t)
	for _, c := range []struct {
		driver, dsn string
		d           *dialect.Dialect
		want        dialect.ErrorClass
	}{
		{"mysql", "nobody:wrong@tcp(" + harness.MariaDB.Addr() + ")/mysql?lc_messages=%27de_DE%27", dialect.MariaDB(), dialect.ErrorLogin},
		{"mysql", harness.MariaDB.DSN("nosuch_database"), dialect.MariaDB(), dialect.ErrorNoDatabase},
		{"pgx", "postgres://nobody:wrong@" + harness.PostgreSQL.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), dialect.ErrorLogin},
		{"pgx", harness.PostgreSQL.DSN("nosuch_database"), dialect.PostgreSQL(), dialect.ErrorNoDatabase},
		{"postgres", "postgres://nobody:wrong@" + harness.PostgreSQL.Addr() + "/postgres?sslmode=disable", dialect.PostgreSQL(), dialect.ErrorLogin},
		{"postgres", harness.PostgreSQL.DSN("nosuch_database"), dialect.PostgreSQL(), dialect.ErrorNoDatabase},
	} {
		err := openRaw(t, c.driver, c.dsn).PingContext(t.Context())
		if got := sqlcode.ClassOf(c.d, err); got != c.want {
			t.Errorf("%s: %v: class %d, want %d", c.driver, err, got, c.want)
		}
	}
}

// TestSuspectLanguages: a duplicate of our key is noticed through a driver that has
// no package in our list, and on a server that does not speak English.
func TestSuspectLanguages(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MattnFile, harness.MySQLGerman}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, u INT UNIQUE, a INT)")
		db, m := s.Open(t, harness.Blocks("t", 100))
		harness.Exec(t, db, "INSERT INTO t (u, a) VALUES (?, 1)", 1)
		if _, err := db.Exec("INSERT INTO t (u, a) VALUES (?, 1)", 1); err == nil {
			t.Error("a duplicate of another index")
		}
		if got := m.Stats().Tables["t"].Suspects; got != 0 {
			t.Errorf("after a duplicate of another index %d suspects", got)
		}
		harness.Exec(t, s.Raw, "INSERT INTO t (id, u) VALUES (3, 60)")
		if _, err := db.Exec("INSERT INTO t (u, a) VALUES (?, 1)", 3); err == nil {
			t.Error("a duplicate")
		}
		if got := m.Stats().Tables["t"].Suspects; got != 1 {
			t.Errorf("%d suspects, want 1", got)
		}
	})
}

// openRaw opens a database through a driver alone.
func openRaw(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Error(err)
		}
	})
	return db
}
