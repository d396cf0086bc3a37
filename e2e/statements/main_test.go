package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// The servers of fuzz targets that run at length.
var (
	mariadb    = testdb.New(testdb.MariaDB().Forgetful())
	postgresql = testdb.New(testdb.PostgreSQL().Forgetful())
)

func TestMain(m *testing.M) {
	harness.Main(m, mariadb, postgresql)
}
