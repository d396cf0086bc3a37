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

	// Proof makes an expression of a key that proves what its table's name means; nil
	// where none is known that does.
	Proof *NameProof
}

// NameProof is an expression around a key. It is the key where a name without a schema
// means the table of a certain schema, and an error elsewhere, so that an INSERT proves in
// its own statement that its key is of the table that it reaches. In its parts {name}
// stands for the name as a literal, {table} for the name with the schema in front of it,
// and {said} for what the error says, also as literals.
type NameProof struct {
	Open string // in front of the key

	// Shut is what follows a key, by the type that keys are cast to: see
	// rewrite.Key.Type.
	Shut map[string]string

	// States are the SQLSTATEs of its errors: the first is that of the error which says
	// {said}, the others are of a table or schema that is not there, or that the user has
	// no right to.
	States []string
}

// MySQL 8.4 Reference Manual, section 14.15, DATABASE(); the time at which a prepared
// statement looks up its table was seen on MariaDB 10.11.
var mysqlPlace = Place{Query: "SELECT DATABASE()", Early: true}

// PostgreSQL 18 documentation, "System Information Functions" and "PREPARE".
// Schemas that are not there, or that the user may not use, are left out.
var postgresPlace = Place{Query: "SELECT CAST(pg_catalog.current_schemas(false) AS text)", Path: true, Moves: true, Proof: &postgresNameProof}

// PostgreSQL 18 documentation, "Object Identifier Types": a literal is looked up when the
// statement is analysed, as its target is, and again after the search path has changed
// ("PREPARE"). "Function Volatility Categories": constants are compared by the planner, which
// leaves the key alone, or evaluates the cast, whose operand is no literal, so that it is not
// converted before. Both were seen on 15 and 18, with custom and generic plans.
var postgresNameProof = NameProof{
	Open: "CASE WHEN CAST({name} AS pg_catalog.regclass) = CAST({table} AS pg_catalog.regclass) THEN ",
	Shut: map[string]string{
		"bigint": " ELSE CAST({said} || '' AS bigint) END",
		"uuid":   " ELSE CAST({said} || '' AS uuid) END",
		"text":   " ELSE CAST(CAST({said} || '' AS bigint) AS text) END",
		"bytea":  " ELSE CAST(CAST(CAST({said} || '' AS bigint) AS text) AS bytea) END",
	},
	States: []string{"22P02", "42P01", "3F000", "42501"},
}

// Transact-SQL reference, "DB_NAME" and "SCHEMA_NAME".
var sqlserverPlace = Place{Query: "SELECT DB_NAME() + NCHAR(10) + SCHEMA_NAME()", Early: true, Database: true}

// Oracle SQL Language Reference 23, "SYS_CONTEXT".
var oraclePlace = Place{Query: "SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual", Moves: true}

// https://www.sqlite.org/pragma.html#pragma_database_list.
var sqlitePlace = Place{
	Query: "SELECT group_concat(name || '=' || coalesce(file, ''), char(10)) FROM pragma_database_list WHERE name <> 'temp'",
	Path:  true, Moves: true,
}
