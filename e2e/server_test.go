package e2e_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// driverCases are the drivers for the servers of internal/testdb.
var driverCases = []struct {
	driver   string
	server   *testdb.Server
	engine   *testdb.Engine
	exists   string // query that counts the databases of a name
	unsynced string // query that counts the settings that switch syncing off: one
}{
	{"mysql", mariadb, testdb.MariaDB(), "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
		"SELECT COUNT(*) FROM information_schema.global_variables WHERE variable_name = 'innodb_flush_method' AND variable_value = 'nosync'"},
	{"pgx", postgresql, testdb.PostgreSQL(), "SELECT COUNT(*) FROM pg_database WHERE datname = $1",
		"SELECT COUNT(*) FROM pg_settings WHERE name = 'fsync' AND setting = 'off'"},
	{"postgres", postgresql, testdb.PostgreSQL(), "SELECT COUNT(*) FROM pg_database WHERE datname = $1",
		"SELECT COUNT(*) FROM pg_settings WHERE name = 'fsync' AND setting = 'off'"},
}

// open opens a database with a raw driver, closed when the test ends.
func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// skip skips a test that the server at hand is not fit for, unless
// KEYFILL_TEST_REQUIRE=1 makes that a failure.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
}

func count(t *testing.T, db *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestServerDatabase(t *testing.T) {
	for _, c := range driverCases {
		t.Run(c.driver, func(t *testing.T) {
			var name string
			t.Run("test", func(t *testing.T) {
				name = c.server.Database(t, c.driver)
				db := open(t, c.driver, c.server.DSN(name))
				exec(t, db, "CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(20))")
				exec(t, db, "INSERT INTO kept VALUES (1, 'Dvořák 🎻')")
				if got := count(t, db, "SELECT COUNT(*) FROM kept WHERE name = 'Dvořák 🎻'"); got != 1 {
					t.Errorf("%d rows, want 1", got)
				}
			})
			if name == "" {
				skip(t, "the inner test was skipped")
			}
			admin := open(t, c.driver, c.server.DSN(""))
			if got := count(t, admin, c.exists, name); got != 0 {
				t.Errorf("the database is left behind")
			}
			if got := count(t, admin, c.unsynced); got != 1 {
				t.Errorf("the server syncs its files, so its settings are not those of testdb")
			}
		})
	}
}

// What was committed is there after kill -9, whatever the settings that make
// the server fast.
func TestServerKeepsWhatIsCommitted(t *testing.T) {
	for _, c := range driverCases {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			s := testdb.Start(t, c.engine)
			db := open(t, c.driver, s.DSN(s.Database(t, c.driver)))
			exec(t, db, "CREATE TABLE kept (id INT PRIMARY KEY)")
			for id := range 100 {
				exec(t, db, fmt.Sprintf("INSERT INTO kept VALUES (%d)", id))
			}
			s.Kill(t)
			if err := db.Ping(); err == nil {
				t.Error("a killed server answers")
			}
			s.Restart(t)
			if got := count(t, db, "SELECT COUNT(*) FROM kept"); got != 100 {
				t.Errorf("%d rows, want 100", got)
			}
		})
	}
}
