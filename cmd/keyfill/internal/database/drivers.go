package database

// These imports register the drivers with which commands open databases.
import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/sijms/go-ora/v2"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/dialect"
)

// known are the drivers that are registered above, with the dialects of their engines.
var known = []struct {
	name    string
	dialect func() *dialect.Dialect
}{
	{"sqlite", dialect.SQLite},
	{"mysql", dialect.MySQL}, // or MariaDB: the server's version shows which
	{"pgx", dialect.PostgreSQL},
	{"postgres", dialect.PostgreSQL},
	{"sqlserver", dialect.SQLServer},
	{"oracle", dialect.Oracle},
}

// Drivers returns the names of the drivers.
func Drivers() (names []string) {
	for _, one := range known {
		names = append(names, one.name)
	}
	return names
}

// DialectOf returns the dialect that a driver speaks, nil if the driver is not known. A
// driver of MySQL gives the dialect of MySQL, also for MariaDB.
func DialectOf(driver string) *dialect.Dialect {
	for _, one := range known {
		if one.name == driver {
			return one.dialect()
		}
	}
	return nil
}
