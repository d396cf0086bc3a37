package database

//row:changes | the drivers by which commands open databases | `cmd/keyfill/internal/database/drivers.go`

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

// known lists the drivers that the imports above register, with the dialects of their
// engines.
var known = []struct {
	name    string
	dialect func() *dialect.Dialect
}{
	{"sqlite", dialect.SQLite},
	{"mysql", dialect.MySQL}, // for MariaDB too: the server's version shows which engine it is
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

// DialectOf returns the dialect that a driver speaks, nil if the driver is not known. For
// the driver mysql it returns the dialect MySQL, even if the server is MariaDB.
func DialectOf(driver string) *dialect.Dialect {
	for _, one := range known {
		if one.name == driver {
			return one.dialect()
		}
	}
	return nil
}
