package harness

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// UpdateDocs is the flag -update of the tests that compare files of the repository
// with what the engines do.
var UpdateDocs = flag.Bool("update", false, "rewrite the tables in docs/arguments.md and docs/sources.md, and assoc/uuids")

// Soaking reports whether a long run is asked for: make soak.
func Soaking() bool { return os.Getenv("KEYFILL_SOAK") == "1" }

// The servers of this test binary. Each starts with the first test that needs
// it.
var (
	MariaDB    = testdb.New(testdb.MariaDB())
	PostgreSQL = testdb.New(testdb.PostgreSQL())

	// PostgreSQL18 is used besides the system's version, if it is installed: see ByTurns.
	PostgreSQL18 = testdb.New(testdb.PostgreSQL18())
)

// SessionOf returns the number of the only connection's session on its server.
func (s *Scratch) SessionOf(t *testing.T, db *sql.DB) int {
	t.Helper()
	if s.IsPostgres() {
		return Count(t, db, "SELECT pg_backend_pid()")
	}
	return Count(t, db, "SELECT CONNECTION_ID()")
}

// Kill ends the server's side of a session.
func (s *Scratch) Kill(t *testing.T, id int) {
	t.Helper()
	kill, alive := "SELECT pg_terminate_backend(%d)", "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %d"
	if !s.IsPostgres() {
		kill, alive = "KILL %d", "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %d"
	}
	Exec(t, s.Raw, fmt.Sprintf(kill, id))
	for Count(t, s.Raw, fmt.Sprintf(alive, id)) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// DriverCases are the drivers for the servers of internal/testdb.
var DriverCases = []struct {
	Driver   string
	Server   *testdb.Server
	Engine   *testdb.Engine
	Exists   string // query that counts the databases of a name
	Unsynced string // query that counts the settings that switch syncing off; it returns 1
}{
	{"mysql", MariaDB, testdb.MariaDB(), "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
		"SELECT COUNT(*) FROM information_schema.global_variables WHERE variable_name = 'innodb_flush_method' AND variable_value = 'nosync'"},
	{"pgx", PostgreSQL, testdb.PostgreSQL(), "SELECT COUNT(*) FROM pg_database WHERE datname = $1",
		"SELECT COUNT(*) FROM pg_settings WHERE name = 'fsync' AND setting = 'off'"},
	{"postgres", PostgreSQL, testdb.PostgreSQL(), "SELECT COUNT(*) FROM pg_database WHERE datname = $1",
		"SELECT COUNT(*) FROM pg_settings WHERE name = 'fsync' AND setting = 'off'"},
}

// Skip skips a test that does not suit the server. If KEYFILL_TEST_REQUIRE=1, it fails the
// test instead.
func Skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// DatabaseOf returns the name of the database of a Scratch.
func DatabaseOf(t *testing.T, s *Scratch) string {
	t.Helper()
	query := "SELECT DATABASE()"
	if s.IsPostgres() {
		query = "SELECT current_database()"
	}
	var name string
	if err := s.Raw.QueryRow(query).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}
