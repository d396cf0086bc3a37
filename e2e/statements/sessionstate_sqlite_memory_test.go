package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSQLiteOwnMemory: each connection to memory has a database of its own, and what one
// says of its tables is true of that one.
func TestSQLiteOwnMemory(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "sqlite3"} {
		// An empty name is a temporary file of the connection.
		for _, dsn := range []string{":memory:", "file::memory:", "file:own?mode=memory", "file:own?vfs=memdb", "file:?cache=private"} {
			for name, source := range countedSources() {
				t.Run(driver+"/"+dsn+"/"+name, func(t *testing.T) {
					t.Parallel()
					db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, driver, dsn), harness.InPlace(source))
					ownMemory(t, db)
				})
			}
		}
	}
}

func ownMemory(t *testing.T, db *sql.DB) {
	t.Helper()
	without, with := harness.ConnOf(t, db), harness.ConnOf(t, db)
	const insert = "INSERT INTO t (a) VALUES (1)"
	harness.MustFail(t, without, insert)
	harness.Must(t, with, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", insert, insert, "INSERT INTO t VALUES (NULL, 2)")
	harness.MustFail(t, without, insert)
	harness.Must(t, without, "CREATE TABLE t (a INT, b INT, id INTEGER PRIMARY KEY)", insert, "INSERT INTO t VALUES (1, 2, NULL)", insert)
	harness.Must(t, with, insert, "DROP TABLE t", "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, b INT)", "INSERT INTO t (b) VALUES (1)")
	for name, want := range map[*sql.Conn]int{without: 3, with: 1} {
		var n int
		if err := name.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM t WHERE id IS NOT NULL").Scan(&n); err != nil || n != want {
			t.Errorf("%d rows, %v; want %d", n, err, want)
		}
	}
}

// TestSQLiteReopened: a pool that keeps no connection gives each checkout an empty database.
func TestSQLiteReopened(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "sqlite3"} {
		for name, source := range countedSources() {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, driver, ":memory:"), harness.InPlace(source))
				db.SetMaxIdleConns(0)
				for range 3 {
					c := harness.ConnOf(t, db)
					harness.MustFail(t, c, "INSERT INTO t (a) VALUES (1)")
					harness.Must(t, c, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1)")
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// TestSQLiteSharedMemory: connections to one database in memory count together.
func TestSQLiteSharedMemory(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "sqlite3"} {
		for _, path := range []string{"file:%s?mode=memory&cache=shared", "file:/%s?vfs=memdb"} {
			for name, source := range countedSources() {
				t.Run(driver+"/"+path[len(path)-6:]+"/"+name, func(t *testing.T) {
					t.Parallel()
					dsn := fmt.Sprintf(path, strings.NewReplacer("/", "_", "=", "_", " ", "_").Replace(t.Name()))
					db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, driver, dsn), harness.InPlace(source))
					one, two := harness.ConnOf(t, db), harness.ConnOf(t, db)
					harness.Must(t, one, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
					for range 3 {
						harness.Must(t, one, "INSERT INTO t (a) VALUES (1)")
						harness.Must(t, two, "INSERT INTO t (a) VALUES (1)", "INSERT INTO t VALUES (NULL, 1)")
					}
				})
			}
		}
	}
}

// TestSQLiteOwnTemporary: what a connection says of its temporary table is true of no other.
func TestSQLiteOwnTemporary(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindMaxPlusOne}))
			one, two := harness.ConnOf(t, db), harness.ConnOf(t, db)
			if _, err := harness.PastKeyfill(t, one).ExecContext(context.Background(), "CREATE TEMPORARY TABLE t (id BIGINT, a INT)", nil); err != nil {
				t.Fatal(err)
			}
			// No unique index covers its key.
			harness.MustFail(t, one, "INSERT INTO t (a) VALUES (1)")
			harness.Must(t, two, "INSERT INTO t (a) VALUES (1)")
		})
	}
}
