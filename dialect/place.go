package dialect

// Place holds the query that asks a session where it looks for tables that are named
// without a schema. If two sessions give the same answer, a name means the same table in
// both, except for temporary tables.
type Place struct {
	// Query returns one text: a schema, or in PostgreSQL a search path. NULL means
	// empty. If a session may take another role, a second text is the user whose rights
	// count.
	Query string

	// Tables is Query with one more text: the names of the session's temporary tables
	// that hide another table, one a line. It is empty if such tables are made only by
	// statements that keyfill reads.
	Tables string

	// Path reports whether the answer is a search path, in which the table has to be
	// looked up; otherwise the answer is the schema.
	Path bool

	// Early reports whether the query would change an answer that the next statement
	// may read: the number of rows that the statement before it has changed.
	Early bool

	// Database reports whether the answer has two lines, of which the first is the
	// database, since a name may begin with another database.
	Database bool

	// Moves reports whether a table's name in a prepared statement is looked up when the
	// statement is executed; elsewhere it is looked up when the statement is prepared.
	Moves bool

	// Proof is an expression around a key that proves which table a name means; nil if
	// no such expression is known.
	Proof *NameProof
}

// NameProof is an expression around a key. Its value is the key if a name without a
// schema means the table of a certain schema, and an error otherwise. So an INSERT
// proves in its own statement that its key belongs to the table that it reaches. Its
// parts hold words that are replaced by literals: {bare} by the name, {name} by the
// name as an identifier, {table} by that name with its schema, and {said} by Says.
type NameProof struct {
	Open string // the text before the key

	// Shut is the text after the key, by the type that keys are cast to: see
	// plans.Key.Type. A map with the single key "" serves every type.
	Shut map[string]string

	// Says is a part of the error's text, whatever its language. {name} and {table} are
	// replaced by the names.
	Says string

	// States are the SQLSTATEs of errors which mean that the table or its schema does
	// not exist, or that the user has no right to it.
	States []string

	// Asks is a query that returns 1 if the name means the table, for statements that
	// cannot hold an expression; empty if there are no such statements.
	Asks string

	// Passes and Raises are queries that test the expression with the name pg_class in
	// pg_catalog: Passes returns one row, and Raises fails with the text of Says.
	Passes, Raises string
}

// MySQL 8.4 Reference Manual, section 14.15, DATABASE(); the time at which a prepared
// statement looks up its table was seen on MariaDB 10.11.
var mysqlPlace = Place{Query: "SELECT DATABASE()", Early: true}

// PostgreSQL 18 documentation, "System Information Functions" and "PREPARE". The answer
// leaves out schemas that do not exist, or that the user may not use.
var postgresPlace = Place{
	Query: "SELECT CAST(pg_catalog.current_schemas(false) AS text), CAST(current_user AS text)",
	Tables: `SELECT CAST(pg_catalog.current_schemas(false) AS text), CAST(current_user AS text), CASE WHEN pg_catalog.pg_my_temp_schema() <> 0 THEN (
SELECT pg_catalog.string_agg(CAST(c.relname AS text), pg_catalog.chr(10)) FROM pg_catalog.pg_class c
WHERE c.relnamespace = pg_catalog.pg_my_temp_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND EXISTS (SELECT 1 FROM pg_catalog.pg_class o WHERE o.relname = c.relname AND o.oid <> c.oid AND o.relkind IN ('r', 'p', 'v', 'm', 'f'))) END`,
	Path: true, Moves: true, Proof: &postgresNameProof,
}

// PostgreSQL 18 documentation, "Object Identifier Types": a literal is looked up when
// the statement is analysed, as its target is, and again after the search path has
// changed ("PREPARE"). "Function Volatility Categories": the planner compares
// constants, and then keeps the key alone or evaluates the cast. The operand of the
// cast is no literal, so that it is not converted before. Both were seen on 15 and 18,
// with custom and generic plans.
var postgresNameProof = NameProof{
	Open: postgresNameOpen,
	Shut: map[string]string{
		"bigint": postgresNameShut,
		"uuid":   " ELSE CAST({said} || '' AS uuid) END",
		"text":   " ELSE CAST(CAST({said} || '' AS bigint) AS text) END",
		"bytea":  " ELSE CAST(CAST(CAST({said} || '' AS bigint) AS text) AS bytea) END",
	},
	Says:   "keyfill: {name} is not {table}",
	States: []string{"42P01", "3F000", "42501"},
	Asks:   "SELECT CASE WHEN pg_catalog.to_regclass({name}) = pg_catalog.to_regclass({table}) THEN 1 ELSE 0 END",
	Passes: "SELECT " + postgresNameOpen + "CAST(1 AS bigint)" + postgresNameShut,
	Raises: "SELECT CASE WHEN CAST('pg_catalog.pg_attribute' AS pg_catalog.regclass) = CAST({table} AS pg_catalog.regclass) THEN CAST(1 AS bigint)" + postgresNameShut,
}

const (
	postgresNameOpen = "CASE WHEN CAST({name} AS pg_catalog.regclass) = CAST({table} AS pg_catalog.regclass) THEN "
	postgresNameShut = " ELSE CAST({said} || '' AS bigint) END"
)

// Transact-SQL reference, "DB_NAME" and "SCHEMA_NAME".
var sqlserverPlace = Place{Query: "SELECT DB_NAME() + NCHAR(10) + SCHEMA_NAME()", Early: true, Database: true}

// Oracle SQL Language Reference 23, "SYS_CONTEXT".
var oraclePlace = Place{Query: "SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual", Moves: true}

// https://www.sqlite.org/pragma.html#pragma_database_list.
var sqlitePlace = Place{
	Query: "SELECT group_concat(name || '=' || coalesce(file, ''), char(10)) FROM pragma_database_list WHERE name <> 'temp'",
	Path:  true, Moves: true,
	Proof: &sqliteNameProof,
}

// https://www.sqlite.org/lang_naming.html: a name without a schema is looked up among
// the temporary tables first. https://www.sqlite.org/json1.html: the error of
// json_extract names the path. CASE evaluates json_extract in its own branch alone, as
// was seen with both drivers.
var sqliteNameProof = NameProof{
	Open:   "CASE WHEN EXISTS (SELECT 1 FROM temp.sqlite_master WHERE name = {bare} COLLATE NOCASE AND type IN ('table', 'view')) THEN json_extract('{}', {said}) ELSE ",
	Shut:   map[string]string{"": " END"},
	Says:   "keyfill: {name} is a temporary table",
	Passes: "SELECT CASE WHEN EXISTS (SELECT 1 FROM temp.sqlite_master WHERE name = {bare}) THEN 2 ELSE 1 END",
	Raises: "SELECT json_extract('{}', {said})",
}
