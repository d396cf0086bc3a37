// Package engines holds the databases that measurements run on, and the texts that differ
// between them.
package engines

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/testdb"
)

// Engine is an engine with a driver and its settings.
type Engine struct {
	Name    string // the engine's name in tables and in -run
	Dialect string // the name of its dialect in a policy

	measure.Columns

	speaks  *dialect.Dialect
	version string
	settled string // the query for the settings that times depend on
	driver  string // the driver's name as registered with database/sql; empty if the engine has no server
	params  string // parameters that are added to the DSN
	server  *testdb.Server
}

// The servers start when the first measurement needs them; see Servers.
var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
	newest     = testdb.New(testdb.PostgreSQL18())
)

// Servers returns the servers that TestMain hands to testdb.Main, which ends them.
func Servers() []*testdb.Server { return []*testdb.Server{mariadb, postgresql, newest} }

// All returns the engines: MariaDB once with its driver's default, which prepares a
// statement with arguments, and once with a setting that writes the arguments into the
// text.
func All() []Engine {
	maria := Engine{
		Name: "MariaDB", Dialect: "mariadb", speaks: dialect.MariaDB(), driver: "mysql", server: mariadb,
		Columns: columns(dialect.MariaDB()),
		version: "SELECT CONCAT('MariaDB ', VERSION())",
		settled: "SELECT CONCAT('buffer pool ', @@innodb_buffer_pool_size DIV 1048576, ' MB')",
	}
	inText := maria
	inText.Name, inText.params = "MariaDB, interpolateParams", "?interpolateParams=true"
	return []Engine{
		{
			Name: "PostgreSQL", Dialect: "postgres", speaks: dialect.PostgreSQL(), driver: "pgx", server: postgresql,
			Columns: columns(dialect.PostgreSQL()),
			version: "SELECT 'PostgreSQL ' || current_setting('server_version')",
			settled: "SELECT 'shared buffers ' || current_setting('shared_buffers')",
		},
		maria,
		inText,
		{
			Name: "SQLite", Dialect: "sqlite", speaks: dialect.SQLite(),
			Columns: columns(dialect.SQLite()),
			version: "SELECT 'SQLite ' || sqlite_version()",
			settled: "SELECT 'cache ' || cache_size || ' (pages, or less than 0: kB)' FROM pragma_cache_size",
		},
	}
}

// PostgreSQLs returns PostgreSQL, and PostgreSQL 18 if it is installed.
func PostgreSQLs() []Engine {
	first := All()[0]
	later := first
	later.Name, later.server = "PostgreSQL 18", newest
	if !newest.Installed() {
		return []Engine{first}
	}
	return []Engine{first, later}
}

func columns(d *dialect.Dialect) measure.Columns {
	c, _ := measure.ColumnsOf(d) // ColumnsOf knows all engines of this package
	return c
}

// Connector returns the driver's own connector to a new database, which is removed at the
// end of the test. A missing server skips the test.
func (e Engine) Connector(t testing.TB) (driver.Connector, error) {
	t.Helper()
	if e.server == nil {
		file := filepath.Join(t.TempDir(), "figures.db")
		dsn := "file:" + file + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate"
		return dsnConnector{dsn, &sqlite.Driver{}}, nil
	}
	dsn := e.server.DSN(e.server.Database(t, e.driver))
	if e.driver == "mysql" {
		return mysql.MySQLDriver{}.OpenConnector(dsn + e.params)
	}
	return stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(dsn)
}

// dsnConnector opens connections by a DSN, for drivers that have no connectors.
type dsnConnector struct {
	dsn    string
	driver driver.Driver
}

// Connect opens a connection.
func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver returns the driver.
func (c dsnConnector) Driver() driver.Driver { return c.driver }

// Fill stores rows in the table of a layout, on the only connection of a database.
func (e Engine) Fill(ctx context.Context, db *sql.DB, table string, rows int) (measure.Filled, error) {
	return measure.Fill{DB: db, Dialect: e.speaks, Table: table, Rows: rows}.Run(ctx)
}

// Bind returns a query with the engine's placeholders instead of "?".
func (e Engine) Bind(query string) string { return measure.Bind(e.speaks, query) }

// Describe returns the engine's version and the settings that times depend on.
func (e Engine) Describe(ctx context.Context, db *sql.DB) (string, error) {
	var version, settled string
	if err := db.QueryRowContext(ctx, e.version).Scan(&version); err != nil {
		return "", err
	}
	if err := db.QueryRowContext(ctx, e.settled).Scan(&settled); err != nil {
		return "", err
	}
	return version + ", " + settled, nil
}
