package apps_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// cluster is the Galera cluster of this test binary, which starts with the first test
// that needs it.
var cluster = testdb.NewCluster("mysql", 3)

// TestMain runs the tests, or one of the processes that they start.
func TestMain(m *testing.M) {
	if text := os.Getenv(writerVariable); text != "" {
		os.Exit(runWriter(text))
	}
	if err := os.Setenv(workerVariable, "3"); err != nil {
		panic(err)
	}
	harness.Main(m)
	cluster.End()
	if command.folder != "" {
		_ = os.RemoveAll(command.folder) // it is a temporary one
	}
}
