package harness

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// Main runs the tests of a package and then stops the servers that they have started.
func Main(m *testing.M) {
	if !PostgreSQL18.Installed() {
		fmt.Println("harness: PostgreSQL 18 is not installed: no test runs on it")
	}
	testdb.Main(m, MariaDB, PostgreSQL, PostgreSQL18)
}
