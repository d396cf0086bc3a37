package stores_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	_ "github.com/keyfill/keyfill/keyfilletcd"
	_ "github.com/keyfill/keyfill/keyfillredis"
)

// The servers of the tests of rollout have room for the connections of a thousand databases
// that are opened at once.
var (
	mariaDB    = testdb.New(testdb.MariaDB().With("--max-connections=4000", "--back-log=1000"))
	postgreSQL = testdb.New(testdb.PostgreSQL().With("-c", "max_connections=3000"))
)

// TestMain runs the tests, or one of the processes that they start.
func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(do(text))
	}
	if text := os.Getenv(podVariable); text != "" {
		os.Exit(runPod(text))
	}
	if text := os.Getenv(memberVariable); text != "" {
		os.Exit(runMember(text))
	}
	harness.Main(m, mariaDB, postgreSQL)
}
