package database

// The drivers that commands open databases with: those that keyfill knows.
import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/sijms/go-ora/v2"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/dialect"
)

// Drivers are the names under which they are registered.
var Drivers = []string{"sqlite", "mysql", "pgx", "postgres", "sqlserver", "oracle"}

// known are the drivers by their names, with what they speak.
var known = []struct {
	name    string
	dialect func() *dialect.Dialect
}{
	{"sqlite", dialect.SQLite},
	{"mysql", dialect.MySQL}, // or MariaDB, which the server's version tells
	{"pgx", dialect.PostgreSQL},
	{"postgres", dialect.PostgreSQL},
	{"sqlserver", dialect.SQLServer},
	{"oracle", dialect.Oracle},
}

// DialectName returns the name of the dialect that a driver speaks, "" for a driver that is
// not known.
func DialectName(driver string) string {
	for _, one := range known {
		if one.name == driver {
			return one.dialect().Name
		}
	}
	return ""
}
