package dialect

// Place is how a session says where it looks for tables without a schema. Two
// sessions with one answer take the same table for a name, but for temporary
// ones.
type Place struct {
	// Query is answered with one text: a schema, in PostgreSQL a search path.
	// NULL stands for "".
	Query string

	// Path says that the answer is a search path, so that the table has to be
	// looked for; elsewhere it is the schema.
	Path bool

	// Early says that the question would change an answer that a statement may read: the
	// number of rows that the statement before it has changed.
	Early bool

	// Database says that the answer has two lines, of which the first is the
	// database: a name may have another one in front.
	Database bool

	// Moves says that a table's name in a prepared statement is looked up when the
	// statement is executed; elsewhere it is looked up when the statement is prepared.
	Moves bool
}

// MySQL 8.4 Reference Manual, section 14.15, DATABASE(); the time at which a prepared
// statement looks up its table was seen on MariaDB 10.11.
var mysqlPlace = Place{Query: "SELECT DATABASE()", Early: true}

// PostgreSQL 18 documentation, "System Information Functions" and "PREPARE".
// Schemas that are not there, or that the user may not use, are left out.
var postgresPlace = Place{Query: "SELECT CAST(pg_catalog.current_schemas(false) AS text)", Path: true, Moves: true}

// Transact-SQL reference, "DB_NAME" and "SCHEMA_NAME".
var sqlserverPlace = Place{Query: "SELECT DB_NAME() + NCHAR(10) + SCHEMA_NAME()", Early: true, Database: true}

// Oracle SQL Language Reference 23, "SYS_CONTEXT".
var oraclePlace = Place{Query: "SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual", Moves: true}

// https://www.sqlite.org/pragma.html#pragma_database_list.
var sqlitePlace = Place{
	Query: "SELECT group_concat(name || '=' || coalesce(file, ''), char(10)) FROM pragma_database_list WHERE name <> 'temp'",
	Path:  true, Moves: true,
}
