package conformance

import "github.com/keyfill/keyfill/dialect"

// engine has the statements and types that differ from engine to engine. %[1]s is the
// name of the schema.
type engine struct {
	version string // the query for the version, in the server's own words
	session string // the query for the number of a session; empty if there is none

	create string // makes the schema
	use    string // makes the schema the one that a session's names mean; empty if the DSN does
	names  string // lists the schemas whose names begin with prefix
	tables string // counts the tables of the schema that are not the mark

	// contents lists what has to be dropped before the schema, each with its kind, such as
	// TABLE. It is empty if the last statement of drop drops the schema with all in it.
	contents string
	drop     []string

	mark string // the table that marks the schema, as a session outside of it names it

	// noticed are queries for the programs that could notice a run. Each returns a number,
	// and the text says what the number counts if it is not 0.
	noticed []noticed

	number, text, long, decimal, uuid string // types: 64 bits, 60 characters, 300 characters, two decimals, the default layout of a UUID
	binary                            string // 16 bytes; empty if the default layout sends bytes, or the engine has no such type that is a key
	ascii                             string // %d characters that compare byte by byte
	sequence                          string // makes the sequence kf_numbers in steps of 50; empty if the engine has none
	identity                          string // a key that the engine numbers, where LastInsertId returns it
	returning                         string // an INSERT of three rows into kf_orders that gives id and note
	without                           string // the dialect of the family that has neither sequences nor RETURNING
	lastInsertID                      bool   // LastInsertId returns the key that keyfill has made
	codeless                          bool   // a missing table is an error without a code of its own

	impatient []string  // lets a session wait for a short time only
	settings  []setting // each changes what a text means
}

// setting is a statement that changes a session, and a text that then stores some rows.
type setting struct {
	set, text string
	rows      int64
}

// twoWays is one row where a backslash makes the next quote a part of the string, else two.
const twoWays = `INSERT INTO kf_orders (note, n) VALUES ('\', 1), (' , 2) -- ', 3)`

// noticed is a query for a number, and what the number counts.
type noticed struct {
	query, what string
	only        string // the only dialect that has the query; empty for all of the family
}

const notSeen = "this user may not see other sessions: grant the right, or"

// engines are the engines, by family. The tests of this repository run their statements on
// PostgreSQL, MariaDB and SQLite. Beside each statement of the other families is the page of
// the manual that describes it. The statements of PostgreSQL and MySQL are described for
// other servers of the family on these pages:
//
//	MySQL 8.4 Reference Manual   CREATE DATABASE, DROP DATABASE, The INFORMATION_SCHEMA
//	                             PROCESSLIST Table, … USER_PRIVILEGES Table, Server SQL
//	                             Modes, The ascii Character Set
//	TiDB manual                  PROCESSLIST, USER_PRIVILEGES, SQL Mode, Character Set and
//	                             Collation, System Variables
//	CockroachDB manual           CREATE SCHEMA, DROP SCHEMA (RESTRICT is the default),
//	                             pg_catalog, CREATE SEQUENCE
//	YugabyteDB manual            CREATE SCHEMA, DROP SCHEMA, Catalog objects and views
var engines = map[dialect.Family]*engine{
	dialect.FamilyPostgreSQL: {
		version: "SELECT version()",
		session: "SELECT pg_backend_pid()",
		create:  "CREATE SCHEMA %[1]s",
		use:     "SET search_path TO %[1]s",
		names:   "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname LIKE 'keyfill!_conformance!_%' ESCAPE '!' ORDER BY nspname",
		tables:  "SELECT COUNT(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '%[1]s' AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relname <> 'keyfill_conformance'",
		contents: `SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '%[1]s' AND c.relkind IN ('r', 'p', 'v', 'S')
ORDER BY CASE c.relname WHEN 'keyfill_conformance' THEN 2 ELSE 1 END, CASE c.relkind WHEN 'v' THEN 1 WHEN 'S' THEN 3 ELSE 2 END, c.relname`,
		drop: []string{"DROP SCHEMA %[1]s RESTRICT"},
		mark: "%[1]s.keyfill_conformance",
		noticed: []noticed{
			{query: "SELECT COUNT(*) FROM pg_catalog.pg_publication WHERE puballtables", what: "publications hold all tables, and a subscriber without the new ones stops"},
			{query: "SELECT COUNT(*) FROM pg_catalog.pg_stat_replication", what: "servers replicate from this one"},
			{query: "SELECT COUNT(*) FROM pg_catalog.pg_replication_slots", what: "replication slots keep the log of this server"},
			{query: "SELECT COUNT(*) FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid() AND (backend_type = 'client backend' OR backend_type IS NULL)", what: "other sessions are at work"},
		},
		number: "bigint", text: "varchar(60)", long: "varchar(300)", decimal: "numeric(20,2)", uuid: "uuid",
		binary: "bytea", ascii: "char(%d) COLLATE \"C\"",
		returning: "INSERT INTO kf_orders (note) VALUES (?), (?), (?) RETURNING id, note",
		settings: []setting{
			{"SET standard_conforming_strings = on", twoWays, 2},
			{"SET standard_conforming_strings = off", twoWays, 1}, // CockroachDB refuses it: see trySettings
		},
		sequence: "CREATE SEQUENCE kf_numbers INCREMENT BY 50",
	},
	dialect.FamilyMySQL: {
		version: "SELECT VERSION()",
		session: "SELECT CONNECTION_ID()",
		create:  "CREATE DATABASE %[1]s",
		use:     "USE %[1]s",
		names:   "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'keyfill!_conformance!_%' ESCAPE '!' ORDER BY SCHEMA_NAME",
		tables:  "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '%[1]s' AND TABLE_NAME <> 'keyfill_conformance'",
		drop:    []string{"DROP DATABASE %[1]s"},
		mark:    "%[1]s.keyfill_conformance",
		noticed: []noticed{
			{query: "SELECT CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'PROCESS'", what: notSeen},
			{query: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'", what: "servers replicate from this one"},
			{query: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Slave_IO', 'Slave_SQL') OR USER = 'system user' AND COMMAND IN ('Connect', 'Query')", what: "threads replicate from another server"},
			{query: "SELECT COUNT(*) FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'WSREP_ON' AND GLOBAL_VALUE = 'ON'", what: "the server is a node of a cluster, whose other nodes get each row", only: "mariadb"},
			{query: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user') AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')", what: "other sessions are at work"},
		},
		number: "BIGINT", text: "VARCHAR(60)", long: "VARCHAR(300)", decimal: "DECIMAL(20,2)", uuid: "CHAR(36) CHARACTER SET ascii",
		binary: "BINARY(16)", ascii: "CHAR(%d) CHARACTER SET ascii COLLATE ascii_bin",
		returning: "INSERT INTO kf_orders (note) VALUES (?), (?), (?) RETURNING id, note", without: "mysql", lastInsertID: true,
		identity:  "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
		impatient: []string{"SET SESSION innodb_lock_wait_timeout = 2"},
		settings: []setting{
			{"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'", twoWays, 2},
			{"SET SESSION sql_mode = ''", twoWays, 1},
			{"SET SESSION sql_mode = 'ANSI_QUOTES'", `INSERT INTO "kf_orders" ("note") VALUES ('a')`, 1},
		},
		sequence: "CREATE SEQUENCE kf_numbers INCREMENT BY 50",
	},
	dialect.FamilySQLite: {
		version: "SELECT sqlite_version()",
		number:  "BIGINT", text: "TEXT", long: "TEXT", decimal: "NUMERIC", uuid: "TEXT",
		binary: "BLOB", ascii: "CHAR(%d)",
		returning: "INSERT INTO kf_orders (note) VALUES (?), (?), (?) RETURNING id, note", lastInsertID: true, codeless: true,
		identity:  "INTEGER PRIMARY KEY AUTOINCREMENT",
		impatient: []string{"PRAGMA busy_timeout = 100"},
		mark:      "keyfill_conformance",
	},
	dialect.FamilySQLServer: {
		// Pages of learn.microsoft.com/sql, of SQL Server 2022; none of these was run.
		version: "SELECT @@VERSION",                                                                                  // t-sql/functions/version-transact-sql-configuration-functions
		create:  "CREATE DATABASE %[1]s",                                                                             // t-sql/statements/create-database-transact-sql
		names:   "SELECT name FROM sys.databases WHERE name LIKE 'keyfill!_conformance!_%' ESCAPE '!' ORDER BY name", // sys.databases; t-sql/language-elements/like-transact-sql
		tables:  "SELECT COUNT(*) FROM %[1]s.sys.tables WHERE name <> 'keyfill_conformance'",                         // sys.tables; t-sql/language-elements/transact-sql-syntax-conventions, multipart names
		drop:    []string{"ALTER DATABASE %[1]s SET SINGLE_USER WITH ROLLBACK IMMEDIATE", "DROP DATABASE %[1]s"},     // relational-databases/databases/set-a-database-to-single-user-mode
		mark:    "%[1]s.dbo.keyfill_conformance",
		noticed: []noticed{
			// t-sql/functions/has-perms-by-name-transact-sql; sys.dm_exec_sessions
			{query: "SELECT CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 1 THEN 0 ELSE 1 END", what: notSeen},
			{query: "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID", what: "other sessions are at work"},
		},
		number: "bigint", text: "nvarchar(60)", long: "nvarchar(300)", decimal: "decimal(20,2)", uuid: "uniqueidentifier",
		ascii:     "char(%d) COLLATE Latin1_General_100_BIN2",
		returning: "INSERT INTO kf_orders (note) OUTPUT inserted.id, inserted.note VALUES (?), (?), (?)", // t-sql/queries/output-clause-transact-sql
		sequence:  "CREATE SEQUENCE kf_numbers AS bigint START WITH 1 INCREMENT BY 50",                   // t-sql/statements/create-sequence-transact-sql: without START WITH it begins at the least bigint
	},
	dialect.FamilyOracle: {
		// Oracle Database 23ai, SQL Language Reference (SQLRF) and Database Reference (REFRN);
		// none of these was run.
		version: "SELECT banner_full FROM v$version",                                                                                // REFRN, V$VERSION: BANNER_FULL from 18c on
		create:  "CREATE USER %[1]s NO AUTHENTICATION DEFAULT TABLESPACE users QUOTA UNLIMITED ON users",                            // SQLRF, CREATE USER: NO AUTHENTICATION from 18c on
		use:     "ALTER SESSION SET CURRENT_SCHEMA = %[1]s",                                                                         // SQLRF, ALTER SESSION
		names:   "SELECT LOWER(username) FROM all_users WHERE username LIKE 'KEYFILL!_CONFORMANCE!_%' ESCAPE '!' ORDER BY username", // REFRN, ALL_USERS; SQLRF, Pattern-matching Conditions
		tables:  "SELECT COUNT(*) FROM all_tables WHERE owner = UPPER('%[1]s') AND table_name <> 'KEYFILL_CONFORMANCE'",             // REFRN, ALL_TABLES
		drop:    []string{"DROP USER %[1]s CASCADE"},                                                                                // SQLRF, DROP USER
		mark:    "%[1]s.keyfill_conformance",
		noticed: []noticed{
			// REFRN, V$SESSION: TYPE; SQLRF, SYS_CONTEXT: SID of USERENV
			{query: "SELECT COUNT(*) FROM v$session WHERE type = 'USER' AND sid <> SYS_CONTEXT('USERENV', 'SID')", what: "other sessions are at work"},
		},
		number: "NUMBER(19)", text: "VARCHAR2(60)", long: "VARCHAR2(300)", decimal: "NUMBER(20,2)", uuid: "RAW(16)",
		ascii:    "CHAR(%d)",
		sequence: "CREATE SEQUENCE kf_numbers INCREMENT BY 50",
	},
}
