package harness

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// Main runs the tests of a package and then stops the servers that they have started, and
// more servers of that package.
func Main(m *testing.M, more ...*testdb.Server) {
	if !PostgreSQL18.Installed() {
		fmt.Println("harness: PostgreSQL 18 is not installed: no test runs on it")
	}
	testdb.Main(m, append(more, MariaDB, PostgreSQL, PostgreSQL18)...)
}
