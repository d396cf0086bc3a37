package harness

import (
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// Main runs the tests of a package and then stops the servers that they have started.
func Main(m *testing.M) { testdb.Main(m, MariaDB, PostgreSQL) }
