// Package rewrite turns the text of a query into a plan: which INSERT in it
// lacks a key, where in the text and among the arguments the key belongs, or
// why it cannot be put there exactly.
//
// A [Plan] is made once per text by [Compile] and used for every execution:
//
//	plan := rewrite.Compile(dialect.PostgreSQL(), lookup, query)
//	switch plan.Action { … }               // pass, keep, fill or refuse
//	holes, err := plan.Holes(args)         // how many keys this execution takes
//	args = plan.Bind(args, holes, keys)    // the arguments to send
//	query = plan.BoundText(false)          // with this text
//
// A text without placeholders gets its keys as literals, by [Plan.Inline].
// Plans are kept by their texts in a [Cache]; most queries that are no INSERT do
// not come so far, since [Concerns] says so without a scan. What a text does to
// its connection's transaction is the business of [TransactionOf].
//
// The text sent is the text received, byte for byte, except for the spans that
// have to change: nothing is ever printed from a tree. A plan decides from the
// text alone, so the same text always gives the same plan; what depends on a
// bound value is decided by [Plan.Holes].
//
// # What is recognized
//
// Statements with semicolons between them, in Transact-SQL also without, of
// which each INSERT or REPLACE is filled:
//
//	text    = { statement ";" } [ statement ]
//	statement = [ explain ] insert | any other
//	explain = EXPLAIN and its like with their options
//	insert  = [ WITH ctes ] verb { modifier } [ INTO ] table
//	          [ "(" [ column { "," column } ] ")" ] body tail
//	verb    = INSERT | REPLACE
//	body    = ( VALUES | VALUE ) row { "," row }
//	        | DEFAULT VALUES
//	        | SET column "=" value { "," column "=" value }
//	        | select { UNION ALL select }, where each has no FROM, and so is a row
//	        | any other query, which the engine numbers: see [Query]
//	row     = [ ROW ] "(" [ value { "," value } ] ")"
//	value   = any tokens with balanced brackets and no comma outside of them
//	ctes    = name AS "(" insert ")" in PostgreSQL, and any query
//	tail    = upsert clause, RETURNING, OPTION: any tokens to the semicolon
//
// Which modifiers, table decorations and tails there are is in the Grammar of
// the dialect; the manual pages are named there.
//
// Deliberate differences from the engines:
//
//   - A value is judged only where the key belongs: NULL, DEFAULT, a literal
//     and a placeholder, the last also inside CAST(… AS type) and before
//     ::type. Any other expression is a key, whatever it evaluates to.
//   - An executable comment (/*! … */) inside a statement on a configured table
//     makes it refused: which text the server reads depends on its version.
//   - What the grammar does not name is refused, not skipped.
//   - The number of values in a row is compared with the column list only where
//     the key's place depends on it; else it is the engine's error to find.
//
// # Other forms
//
// MERGE is filled where the text says how many rows its source has: one, of a
// SELECT of literals, placeholders and casts without FROM (in Transact-SQL and
// Oracle of anything, in Oracle also FROM dual), or the rows of VALUES, each of which
// carries a key in one column more, unless something shows all columns at once.
// INSERT ALL, FIRST and WHEN are filled where their query gives one row and each
// INTO has VALUES. Whether their conditions left a row out is not known:
// [ConflictConditional].
//
// COPY … FROM STDIN and the INSERTBULK of go-mssqldb, alone in their text, are a
// [Plan.Load]: rows are the executions of the prepared text, and get their keys
// as arguments. Options of COPY that change how a value is read that lib/pq has
// written make it one of the following.
//
// An INSERT in a block of Transact-SQL or PL/SQL, behind IF and in TRY, runs once
// or not at all: it is filled, and [Insert].Branched. Behind the beginning of a loop
// and beside GOTO it is refused.
//
// Other MERGEs and COPYs, LOAD DATA, BULK INSERT, INSERT ALL of a
// query, PREPARE, OUTPUT … INTO and other blocks are refused on a configured table
// unless the INSERT in them brings its keys: names their columns, and no
// placeholder, NULL or DEFAULT stands there.
//
// # Rows of a query
//
// A SELECT without FROM, or FROM DUAL, is a row as one of VALUES is, and gets its key
// as one more item. Its WHERE may leave it out: [Insert].Conditional.
//
// How many keys any other INSERT … SELECT takes is not known from its text. Where the
// source counts, the query becomes a common table expression, the engine adds its
// row numbers to a first key, and [Plan.Count] gives the query for how many there
// are. Where the engine has a function that makes such a key, it is called for
// each row. A query that changes something or sets variables is refused, and a
// counted one beside other statements. In PostgreSQL such an INSERT may stand in a
// WITH clause, and what its definitions change is changed by the count, too.
//
// # Keys within a parent
//
// A key with a [Key].Scope is numbered within the values of other columns of its
// row, which [Plan.Scopes] gives: the values of arguments and of literals in VALUES
// and SET. What only the engine knows is [ErrScope], when the text shows that the
// key is to be filled, else when [Plan.Holes] finds that it is: an expression, a
// cast that may change the value, DEFAULT, NULL, a column that is left out or is
// itself filled, the rows of a query, of MERGE and of a bulk load. A trigger that
// gives the row another parent is not seen.
//
// # Placeholders
//
// A placeholder that is added has the caller's style: the next highest number, or a
// name that is free. In SQLite $n is a name, which some drivers number by its digits
// and others by where it first stands in the text: there the caller's own behind the
// key get new numbers too, so that $1, $2 … keep this order. Where they are not in
// it before, keys are literals, and the text cannot be prepared.
//
// # Several statements
//
// A text is filled as a whole or refused. An INSERT is refused behind a statement
// that may change how it is read or whether it runs, and how often: one that is
// not known, SET sql_mode and character sets, QUOTED_IDENTIFIER and a
// block of MySQL. Arguments are counted over the whole text; SQLite's drivers do not
// agree on that, so there keys are literals, and such a text cannot be prepared:
// [Plan.Unbound]. What the engine answers belongs to an INSERT that is
// [Plan.Alone].
//
// Behind EXPLAIN an INSERT is [Insert].Explained: any value does for its key,
// none has to be drawn. One that runs, behind ANALYZE, is an INSERT like others.
//
// # Filled twice
//
// A filled text that comes through again, as with two mounts one above the other,
// is kept. Its bound keys are looked at when it is executed, as the caller's own
// would be, and are none of the things that count as "no key"; they are not
// looked at where they stand in LAST_INSERT_ID(key), where neither NULL nor zero
// counts as "no key", and where a query or MERGE gives them as a column.
//
// # Caveats
//
// The bodies of CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT and RULE are passed,
// and so is SQL in strings (EXECUTE, DO), but for MySQL's PREPARE. A name is
// compared as it stands: a view, a synonym or a partition is another table, and
// a temporary table of the same name is not, unless the text itself has made it,
// or the caller of [CompileBeside] knows it.
//
// # Settings of the session
//
// sql_mode, standard_conforming_strings and QUOTED_IDENTIFIER change where
// strings and names end. [Compile] reads a text under the settings of the dialect that
// it is given: see [dialect.Dialect.With]. Where they are not known, [Readings]
// tells the texts that need them from those that do not, and [TransactionOfAny]
// takes no side.
package rewrite
