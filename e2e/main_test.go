package e2e_test

import (
	"os"
	"testing"

	// The drivers under test.
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/sijms/go-ora/v2"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/internal/testdb"
)

// The servers of this test binary. Each starts with the first test that needs
// it.
var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
)

func TestMain(m *testing.M) {
	registerBalanced()
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(do(text))
	}
	testdb.Main(m, mariadb, postgresql)
}
