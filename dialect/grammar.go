package dialect

// Grammar holds which forms of INSERT, and of related statements, an engine has.
type Grammar struct {
	Replace      bool // REPLACE INTO
	IntoOptional bool // INSERT t

	// Modifiers are the words, in lower case, that may stand between the
	// verb and INTO.
	Modifiers []string

	OrAction      bool // INSERT OR REPLACE
	Top           bool // INSERT TOP (n)
	Partition     bool // t PARTITION (p, …)
	TableHints    bool // t WITH (TABLOCK)
	Output        bool // OUTPUT … before VALUES
	OmittedParts  bool // db..t
	FalseIsZero   bool // FALSE is the number 0
	StringNames   bool // 't' names a table too
	FieldTargets  bool // a.b in a column list is field b of column a, not column b of table a
	AliasAs       bool // t AS x
	AliasBare     bool // t x
	DBLink        bool // t@link
	Overriding    bool // OVERRIDING SYSTEM VALUE
	Set           bool // INSERT … SET a = 1
	DefaultValues bool // DEFAULT VALUES
	DefaultAlone  bool // no upsert clause after DEFAULT VALUES
	DefaultList   bool // (a, b) DEFAULT VALUES
	EmptyLists    bool // () and VALUES ()
	ValueWord     bool // VALUE for VALUES
	RowWord       bool // VALUES ROW(…)
	ValueSets     bool // a value that is a set turns the only row of VALUES into several, and COALESCE takes no set
	RowAlias      bool // VALUES (…) AS new(a, b)

	OnConflict     bool // ON CONFLICT
	OnDuplicateKey bool // ON DUPLICATE KEY UPDATE
	Returning      bool // RETURNING
	ReturningInto  bool // RETURNING … INTO, RETURN … INTO, LOG ERRORS
	Option         bool // OPTION (…)

	// FirstColumns reports whether n values without a column list are for the first n
	// columns; in other engines they must be for all columns.
	FirstColumns bool

	// FunctionTargets are the words, in lower case, that begin a function call used as
	// the target table. QueryTargets are the words that begin a query used as the
	// target.
	FunctionTargets []string // OPENQUERY (…)
	QueryTargets    []string // TABLE (SELECT …)

	// RowIDs are other names of a table's integer key, in lower case.
	RowIDs []string

	CTETargets  bool // INSERT INTO a name of the WITH clause inserts through that query
	CallTargets bool // f (…) may be the target table

	TempTables   bool   // a temporary table may have the name of another table, which it hides
	TempSchema   bool   // temporary tables are in a schema of their own
	SessionNames string // the first characters of the names of tables that belong to a session: #t, @t
	TableCase    bool   // names that differ in case may belong to two tables
	SelectInto   bool   // SELECT … INTO makes a table
	Merge        bool   // MERGE
	Dual         bool   // FROM dual gives one row
	RowFunctions bool   // a function that a SELECT without FROM calls may return several rows
	TypedRows    bool   // VALUES as a table, and SELECT under UNION ALL, do not get types from the target columns

	// SelectedBytes is the expression, with % for 16 bytes, that keeps these bytes the
	// same in a select list; empty if they need no expression.
	SelectedBytes string

	// StatementSettings are the settings, in lower case, that SET STATEMENT … FOR may
	// set for an INSERT without a change of the rows that it stores; nil if the engine
	// has no such statement.
	StatementSettings []string

	Copy        bool // COPY … FROM
	Load        bool // LOAD DATA
	Bulk        bool // BULK INSERT, INSERT BULK, and INSERTBULK of go-mssqldb
	PrepareText bool // PREPARE … FROM 'text'
	MultiInsert bool // INSERT ALL, INSERT FIRST, INSERT WHEN
	NoSemicolon bool // a statement may follow another without a semicolon
	Blocks      bool // BEGIN opens a block of statements
	PLSQL       bool // a block of PL/SQL is a statement of its own

	// Routines are the words, in lower case, that name the kinds of objects to which
	// CREATE gives a body of statements.
	Routines []string

	// BodyWords are the words, in lower case, one of which follows the only BEGIN in
	// the body of a routine; nil if any statement may follow BEGIN, and blocks nest.
	BodyWords []string

	// RoutineIsRest reports whether a definition of a routine or trigger reaches to the
	// end of the text.
	RoutineIsRest bool
}
