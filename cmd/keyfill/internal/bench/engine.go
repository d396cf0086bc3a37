package bench

import "github.com/keyfill/keyfill/dialect"

// engine has the statements that differ from engine to engine.
type engine struct {
	version string // the query that returns the engine's version
	tables  string // the query that lists the tables of a database, each with its schema and its name

	// lockTable keeps other programs from writing into the table %s until unlockTable. Both
	// are empty if a transaction can do that.
	lockTable   []string
	unlockTable string

	// lock returns 1 if it got the lock that admits one run of keyfill bench at a time;
	// unlock releases it. Both are empty if the engine has no locks by name.
	lock, unlock string
}

// SQL expressions for the name of the lock that admits one run of keyfill bench at a time.
const (
	mysqlLock    = "CONCAT('keyfill_bench_', MD5(DATABASE()))"
	postgresLock = "hashtext('keyfill bench'), hashtext(COALESCE(current_schema(), ''))"
)

// engines are the measured engines, by family.
var engines = map[dialect.Family]*engine{
	dialect.FamilyMySQL: {
		version:     "SELECT VERSION()",
		tables:      "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
		lockTable:   []string{"LOCK TABLES %s WRITE"},
		unlockTable: "UNLOCK TABLES",
		lock:        "SELECT GET_LOCK(" + mysqlLock + ", 0)",
		unlock:      "SELECT RELEASE_LOCK(" + mysqlLock + ")",
	},
	dialect.FamilyPostgreSQL: {
		version:     "SELECT current_setting('server_version')",
		tables:      "SELECT schemaname, tablename FROM pg_catalog.pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY schemaname, tablename",
		lockTable:   []string{"BEGIN", "LOCK TABLE %s IN ACCESS EXCLUSIVE MODE"},
		unlockTable: "COMMIT",
		lock:        "SELECT CASE WHEN pg_try_advisory_lock(" + postgresLock + ") THEN 1 ELSE 0 END",
		unlock:      "SELECT pg_advisory_unlock(" + postgresLock + ")",
	},
	dialect.FamilySQLite: {
		version:     "SELECT sqlite_version()",
		tables:      "SELECT 'main', name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name",
		lockTable:   []string{"BEGIN IMMEDIATE"},
		unlockTable: "COMMIT",
	},
}
