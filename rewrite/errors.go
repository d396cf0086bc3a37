package rewrite

// The reasons that docs/arguments.md lists, with their remedies.
//
//row:arguments | `named` | placeholders by position, or without a name, stand with named arguments, or named placeholders with arguments by position: drivers differ in which argument they give to which placeholder | use one style for all
//row:arguments | `styles` | one text has placeholders of two styles | use one style for all
//row:arguments | `array` | go-ora reads a slice, also a named slice of bytes, as one value for each of several rows. It reads an array, such as `uuid.UUID`, in the same way where only slices and arrays come before it; keyfill does not refuse an array | send one row a statement; pass `[]byte(v)`, `id[:]` or `id.String()`
//row:arguments | `option` | pgx reads the first argument as an option, or lets it rewrite the query and its arguments | set `default_query_exec_mode` in the DSN; write `$1` and pass the values
//row:arguments | `arguments` | there are more or fewer arguments than placeholders | pass one argument for each placeholder

// Reason is why an INSERT on a configured table is refused, as a short word that will
// not change, fit for counters. It is an error and comparable, so that errors.Is(err,
// rewrite.ErrSelect) finds out whether it is the cause.
type Reason string

// Error returns what is wrong with the statement, and what to change.
func (r Reason) Error() string { return texts[r] }

// Causes that lie in the form of the statement.
const (
	// ErrNoColumnList is returned when VALUES stands without a column list and
	// the policy does not name the table's columns.
	ErrNoColumnList Reason = "no_column_list"
	// ErrColumnCount is returned when a row has another number of values than there are
	// columns, so that it is not known which value is the key.
	ErrColumnCount Reason = "column_count"
	// ErrSelect is returned when the rows come from a query, the column list does not
	// name the key, and the key's source makes no counted integers, or makes them in
	// the statement's own transaction.
	ErrSelect Reason = "select"
	// ErrSelectForm is returned when the rows come from a query that cannot be
	// numbered exactly: it changes data or variables, mixes * with values that
	// have no type, or has VALUES as a part of it.
	ErrSelectForm Reason = "select_form"
	// ErrSelectValues is returned when the rows come from a query that the engine would
	// number in a temporary table, and that table may change one of the query's values.
	ErrSelectValues Reason = "select_values"
	// ErrSelectSeveral is returned when the rows come from a query and the text has
	// other statements. These may change how many rows the query has after keyfill has
	// counted them, and it is not known that the engine undoes them with the INSERT.
	ErrSelectSeveral Reason = "select_several"
	// ErrSet is returned when a row would be stored as several: the only row of VALUES
	// calls a function that returns a set, beside DEFAULT or a value for the key; or
	// the engine finds such a call in that row, or in a SELECT without FROM.
	ErrSet Reason = "set"
	// ErrSetRule is returned when the only row of VALUES calls a function that returns
	// a set, so that keyfill would make a query of the row, and a rule of PostgreSQL on
	// the table would write something else for that query.
	ErrSetRule Reason = "set_rule"
	// ErrSetRow is returned when the only row of VALUES calls a function that returns a
	// set, beside a row constructor, which would not get the type of its column in a
	// query.
	ErrSetRow Reason = "set_row"
	// ErrOrder is returned when the ORDER BY of a query decides which rows are stored,
	// and cannot be kept if the engine numbers the rows.
	ErrOrder Reason = "select_order"
	// ErrOldServer is returned when the rows come from a query and the version of the
	// server cannot number rows.
	ErrOldServer Reason = "old_server"
	// ErrStatementLog is returned when the rows come from a query and the server
	// writes statements to its log, so that a replica would number the rows otherwise.
	ErrStatementLog Reason = "statement_log"
	// ErrSeveral is returned when the text holds several statements and another
	// one may change how the INSERT is read, whether it runs, or whether its table
	// is a temporary one.
	ErrSeveral Reason = "several"
	// ErrCTE is returned when the INSERT is inside a WITH clause or brackets.
	ErrCTE Reason = "nested"
	// ErrExplain is returned for EXPLAIN of an INSERT, and for similar statements.
	ErrExplain Reason = "explain"
	// ErrStatementSetting is returned when SET STATEMENT gives a setting to the
	// INSERT that may change its key or its rows, or gives it as an expression.
	ErrStatementSetting Reason = "statement_setting"
	// ErrPrepare is returned for PREPARE in SQL, which would give every EXECUTE the
	// same key.
	ErrPrepare Reason = "prepare"
	// ErrBlock is returned when the INSERT is in a block of statements that may be a
	// routine's; when it is beside GOTO; and, in any block, for a key that is reserved
	// in the INSERT's own transaction.
	ErrBlock Reason = "block"
	// ErrLoop is returned when the INSERT may be in a loop.
	ErrLoop Reason = "loop"
	// ErrMerge is returned for MERGE if the text does not show how many rows its source
	// has, or if a column for the keys, added to the source, would show in another part
	// of the statement.
	ErrMerge Reason = "merge"
	// ErrOutputInto is returned for OUTPUT … INTO, whose rows come from another
	// statement.
	ErrOutputInto Reason = "output_into"
	// ErrMultiTable is returned for INSERT ALL, FIRST and WHEN whose rows come from
	// a query.
	ErrMultiTable Reason = "multi_table"
	// ErrBulk is returned for LOAD DATA and BULK INSERT, and for COPY and
	// INSERTBULK whose rows cannot be filled one by one.
	ErrBulk Reason = "bulk"
	// ErrExec is returned for INSERT … EXEC, whose rows come from a procedure.
	ErrExec Reason = "exec"
	// ErrExecutableComment is returned when a comment that the server may run
	// stands in the statement.
	ErrExecutableComment Reason = "executable_comment"
	// ErrUserValue is returned for OVERRIDING USER VALUE, which would discard the key.
	ErrUserValue Reason = "user_value"
	// ErrTarget is returned when the column list names an element or a field of the key
	// column, not the whole column.
	ErrTarget Reason = "target"
	// ErrRowID is returned when the column list has a name such as rowid, which may
	// mean the key column.
	ErrRowID Reason = "rowid"
	// ErrDoubleQuotes is returned when a name is in double quotes, which make it a
	// string unless sql_mode has ANSI_QUOTES, or QUOTED_IDENTIFIER is on.
	ErrDoubleQuotes Reason = "double_quotes"
	// ErrSettings is returned when the text reads differently under settings of
	// the session that are not known.
	ErrSettings Reason = "reads_differently"
	// ErrSubquery is returned when the target of the INSERT is a query or the like, and
	// not a table's name.
	ErrSubquery Reason = "subquery"
	// ErrReadsCount is returned when the text asks how many rows the statement before
	// it has changed, and keyfill would have to send another statement in between: to
	// reserve keys, or to ask whether the table is a temporary one.
	ErrReadsCount Reason = "reads_count"
	// ErrScope is returned when a key is numbered within the values of other columns, or
	// made from them, and one of these is not given for its row as an argument or a literal, or is
	// NULL.
	ErrScope Reason = "scope"
	// ErrReadsKey is returned when the text asks for the last key of its connection,
	// and the INSERT's own key is drawn on the same connection.
	ErrReadsKey Reason = "reads_key"
	// ErrTransaction is returned when keys belong to the INSERT's transaction, and it
	// is not known whether a transaction is open.
	ErrTransaction Reason = "transaction"
	// ErrTogether is returned when keys belong to the INSERT's transaction, and
	// other statements of the text would be undone with the INSERT, or end the
	// transaction.
	ErrTogether Reason = "together"
	// ErrGap is returned when a numbering must have no gaps, and rows of the INSERT may
	// be left out.
	ErrGap Reason = "gap"
	// ErrPlace is returned when the table is in another database than the one that the
	// connection was opened with; or when the statement asks how many rows the
	// statement before it has changed, and keyfill would have to ask in between where
	// the table is.
	ErrPlace Reason = "place"
	// ErrGrammar is returned when the text is not a form of INSERT that keyfill
	// understands.
	ErrGrammar Reason = "grammar"
)

// Causes that lie in placeholders and arguments.
const (
	// ErrStyles is returned when placeholders of several styles are mixed.
	ErrStyles Reason = "styles"
	// ErrFirstUse is returned when some drivers number placeholders such as $2 by their first
	// use in the text, and the numbers are not in that order. This error concerns keys that
	// depend on an argument, and texts to prepare.
	ErrFirstUse Reason = "first_use"
	// ErrShared is returned when the placeholder for the key's value is used elsewhere
	// in the text too, and cannot be replaced in the key's place alone.
	ErrShared Reason = "shared"
	// ErrPerStatement is returned when drivers do not agree on which arguments belong
	// to which statement of a text.
	ErrPerStatement Reason = "per_statement"
	// ErrTooMany is returned when a statement to prepare would have more
	// arguments than the engine takes.
	ErrTooMany Reason = "too_many"
	// ErrArguments is returned when there are not as many arguments as
	// placeholders, so that a key could end in another column.
	ErrArguments Reason = "arguments"
	// ErrNamed is returned when a named placeholder has no named argument, or another
	// placeholder has one.
	ErrNamed Reason = "named"
	// ErrArray is returned when an argument is a list that stands for several
	// rows.
	ErrArray Reason = "array"
	// ErrQuotedKey is returned when the argument for a key is a UUID in double quotes:
	// a library has sent it as JSON, and the engine would store the quotes or other
	// bytes.
	ErrQuotedKey Reason = "quoted_key"
	// ErrOption is returned when the first argument is an option of the driver,
	// or rewrites the query: it stands for no placeholder, or for many.
	ErrOption Reason = "option"
)

// texts are the messages of the reasons, for developers.
var texts = map[Reason]string{
	ErrNoColumnList:      "the INSERT has no column list: name the columns in it, or list all of the table's under columns: in the policy",
	ErrColumnCount:       "a row has another number of values than there are columns: name the columns, and pass an id of 16 bytes as text",
	ErrSelect:            "the rows come from a query, and the engine can neither make nor number the keys of this source (it numbers uuidv7, comb, ulid and integers that are counted up; PostgreSQL makes a uuidv4, MariaDB from 11.7): take another source, name the key column and select its values, or send the rows with VALUES",
	ErrSelectForm:        "the rows come from a query that cannot be numbered exactly (it changes data or variables, is read by ON DUPLICATE KEY UPDATE, or has * beside values without a type): name the key column and select its values",
	ErrSelectValues:      "the rows come from a query that the engine numbers in a temporary table, and there this value may become another one, as a quotient of integers loses digits: cast it to its column's type, as in CAST(a / b AS DECIMAL(20,10)), name the key column and select its values, or on MariaDB give the key AUTO_INCREMENT, which needs no temporary table",
	ErrSelectSeveral:     "the rows come from a query, which another statement of the text may change after its rows were counted: send the INSERT alone, name the key column and select its values, or run a migration through the driver without keyfill",
	ErrSet:               "a value of the row is a set, so that several rows would be stored: write INSERT … SELECT x FROM f() AS x, without DEFAULT and without the key column",
	ErrSetRule:           "a value of the row is a set, and a rule of the table may write something else for the query that keyfill would make of the row: write INSERT … SELECT x FROM f() AS x, or a trigger in place of the rule",
	ErrSetRow:            "a value of the row is a set, and another one is a row constructor, which takes the type of its column in VALUES alone: give it a type of its own, as in ROW(1, 'x')::pair",
	ErrOrder:             "the query's ORDER BY decides which of its rows are stored, and cannot be kept where the engine numbers them: order by columns of its select list, or name the key column and select its values",
	ErrOldServer:         "the rows come from a query, which this server cannot number (MySQL can from 8.0, MariaDB from 10.2, SQLite from 3.38, keys of 16 bytes from 3.41): name the key column and select its values",
	ErrStatementLog:      "the rows come from a query, and replicas would number them otherwise because binlog_format is not ROW: set it to ROW, or name the key column and select its values",
	ErrSeveral:           "another statement of the text may change how the INSERT is read, or whether it runs: send it alone",
	ErrCTE:               "the INSERT is part of another statement: send it alone",
	ErrExplain:           "EXPLAIN of an INSERT is not filled: write a key into it",
	ErrStatementSetting:  "SET STATEMENT may change what the INSERT stores: set only time limits, memory, plans and logs there, each to a plain value, and anything else for the session",
	ErrPrepare:           "PREPARE in SQL would give every EXECUTE the same key: prepare through database/sql",
	ErrBlock:             "the INSERT stands in a block: send it alone",
	ErrLoop:              "the INSERT may stand in a loop, in which each of its rows would get the same key: send it alone for each row",
	ErrMerge:             "the rows of the MERGE cannot be given keys exactly: give its source as VALUES with a column list, all of whose columns are not shown at once, or name the key column and its value in its INSERT",
	ErrOutputInto:        "the rows come from an OUTPUT clause: name the key column in its column list and give its values",
	ErrMultiTable:        "the rows of an INSERT into several tables come from a query: give the values after INTO and select FROM dual, or send one INSERT a table",
	ErrBulk:              "the rows come from a bulk load: name the key column in its column list and load its values",
	ErrExec:              "the rows come from a procedure: name the key column in the column list",
	ErrExecutableComment: "an executable comment /*! … */ stands in the statement, and which text the server reads depends on its version: write the text without it",
	ErrUserValue:         "OVERRIDING USER VALUE would throw the key away: leave it out, or write OVERRIDING SYSTEM VALUE",
	ErrTarget:            "the key column has a subscript or a field: name the whole column",
	ErrRowID:             "rowid in the column list may be the key: name the key column instead",
	ErrDoubleQuotes:      "a name is in double quotes, which is a string unless sql_mode has ANSI_QUOTES, or QUOTED_IDENTIFIER is on: use backticks, or brackets",
	ErrSettings:          "the text reads differently under other settings of the session, which could not be asked for: say sql_mode, standard_conforming_strings or quoted_identifier in the policy, or write it without double quotes and backslashes",
	ErrSubquery:          "the target of the INSERT is a query: name the table",
	ErrReadsCount:        "the statement asks for the number of rows that the one before it changed, which the reservation of its key on the same connection would change: ask in a statement before, and pass the answer as an argument",
	ErrScope:             "the key is numbered within another column, whose value for the row is not known before the INSERT runs: name that column in the column list, and give its value, which is not NULL, as an argument of its own or a plain literal",
	ErrReadsKey:          "the statement asks for the last key of its connection, on which its own is drawn: ask in a statement before, and pass the answer as an argument",
	ErrTransaction:       "the key belongs to the INSERT's transaction, and whether one is open is not known (after a procedure, SET autocommit, XA, a prepared BEGIN, a commit that failed, or keyfill.Unwrap): begin one with BeginTx, or take another connection",
	ErrTogether:          "the key belongs to the INSERT's transaction, which the other statements of the text may end, or be undone with: send the INSERT alone",
	ErrGap:               "the INSERT may leave a row out (IGNORE, DO NOTHING, an upsert clause, MERGE, WHEN, or a conflict clause of the table), whose number a numbering without gaps would lack: look for the row first, or take transaction: autonomous",
	ErrPlace:             "it is not certain which table the name means, because USE or SET search_path stands before the INSERT, or the connection has left the database that it was opened with: send USE, SET and questions for a number of rows as texts of their own, or open that database by its own DSN",
	ErrGrammar:           "the INSERT is not of a form that is understood: correct it here, or send it through the driver without keyfill",
	ErrStyles:            "placeholders of several styles are mixed: use one",
	ErrFirstUse:          "SQLite drivers do not agree on which argument $n is unless $1, $2 … come in this order: use ? or ?n",
	ErrShared:            "the placeholder of the key is used elsewhere too: give the key one of its own",
	ErrPerStatement:      "SQLite drivers do not agree on which arguments belong to which statement of a text: send each statement alone",
	ErrTooMany:           "with its keys the statement would have more arguments than the engine takes: send fewer rows, or send it without preparing it",
	ErrArguments:         "there are not as many arguments as placeholders: give one for each",
	ErrNamed:             "named placeholders and named arguments do not match: give each named placeholder an argument of its name, and name no others",
	ErrArray:             "an argument is a list that holds several rows: send one row at a time",
	ErrQuotedKey:         "the key is a UUID in double quotes, as a library sends one that it takes for JSON: give the field a type with Value and Scan, such as uuid.UUID of github.com/google/uuid or publicid.ID, or pass id.String()",
	ErrOption:            "the first argument is an option of the driver, or rewrites the query, so that the key's place among the arguments is not known: leave it out, and set it for the connection",
}
