package check_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// cluster is the Galera cluster of this test binary, which starts with the first test
// that needs it.
var cluster = testdb.NewCluster("mysql", 3)

func TestMain(m *testing.M) {
	harness.Main(m)
	cluster.End()
}
