// Package rewrite names the reasons for which keyfill refuses an INSERT, and
// describes the forms of INSERT that it fills.
//
// An error of keyfill wraps the [Reason], if the text of the statement is one:
//
//	if errors.Is(err, rewrite.ErrSelect) { … }
//
// A Reason is a short word that does not change, such as "select": metrics have
// it as a label, and docs/errors.md has a section for each.
//
// The text sent is the text received, byte for byte, except for the spans that
// have to change: nothing is ever printed from a tree. The text alone decides,
// so the same text always becomes the same text; what depends on a bound value is
// decided at the execution.
//
// # What is recognized
//
// A text holds statements with semicolons between them, in Transact-SQL also
// without. Each INSERT or REPLACE of it is filled:
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
//	        | any other query, whose rows the engine numbers: see "Rows of a query"
//	row     = [ ROW ] "(" [ value { "," value } ] ")"
//	value   = any tokens with balanced brackets and no comma outside of them
//	ctes    = name AS "(" insert ")" in PostgreSQL, and any query
//	tail    = upsert clause, RETURNING, OPTION: any tokens to the semicolon
//
// The Grammar of a dialect lists the modifiers, table decorations and tails, with
// the pages of the manuals.
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
//     the key's place depends on it; otherwise the engine finds the error.
//
// # Other forms
//
// MERGE is filled where the text says how many rows its source has: one, if the
// source is a SELECT of literals, placeholders and casts without FROM (in
// Transact-SQL and Oracle of anything, in Oracle also FROM dual), or the rows of
// VALUES, each of which carries a key in one column more, unless something shows
// all columns at once. INSERT ALL, FIRST and WHEN are filled where their query
// gives one row and each INTO has VALUES. Whether their conditions left a row out
// is not known.
//
// COPY … FROM STDIN and the INSERTBULK of go-mssqldb, alone in their text, open a bulk
// load: rows are the executions of the prepared text, and get their keys as arguments.
// A COPY with options that change how the values of lib/pq are read is treated like the
// statements in the last paragraph of this section.
//
// An INSERT in a block of Transact-SQL or PL/SQL, after IF or in TRY, runs at most once
// and is filled. After the beginning of a loop, or beside GOTO, it is refused.
//
// Other MERGEs and COPYs, LOAD DATA, BULK INSERT, INSERT ALL of a query, PREPARE,
// OUTPUT … INTO and other blocks are refused on a configured table unless the
// INSERT in them brings its keys: it names their columns, and no placeholder,
// NULL or DEFAULT stands there.
//
// # Rows of a query
//
// A SELECT without FROM, or FROM DUAL, is a row as one of VALUES is, and gets its
// key as one more item. Its WHERE may leave the row out.
//
// The text does not say how many keys any other INSERT … SELECT takes. If the
// source counts, the query becomes a common table expression, and the engine adds
// its row numbers to a first key; keyfill counts the rows before. If the engine has
// a function that makes such a key, it calls the function for each row. A query
// that changes something or sets variables is refused, and so is a counted one
// beside other statements. In PostgreSQL such an INSERT may stand in a WITH clause;
// the count then changes what the definitions of the clause change, too.
//
// # Keys within a parent
//
// A key may be numbered within the values of other columns of its row, or be made from
// them. These values are arguments, or literals in VALUES and SET. The INSERT is refused with
// [ErrScope] if only the engine knows such a value: an expression, a cast that may
// change the value, DEFAULT, NULL, a column that is left out or is itself filled,
// the rows of a query, of MERGE and, for a number, of a bulk load. keyfill does not see a trigger
// that gives the row another parent.
//
// # Placeholders
//
// A placeholder that is added has the caller's style: the next highest number, or a
// name that is free. In SQLite $n is a name, which some drivers number by its digits
// and others by where it first stands in the text: there the caller's placeholders
// after the key get new numbers too, so that $1, $2 … stay in this order. If they are
// not in this order in the caller's text, keys are literals, and the text cannot be
// prepared.
//
// # Several statements
//
// A text is filled as a whole or refused. An INSERT is refused after a statement
// that may change how the INSERT is read or whether it runs, and how often: an
// unknown one, SET sql_mode and character sets, QUOTED_IDENTIFIER and a block of
// MySQL. Arguments are counted over the whole text; SQLite's drivers do not agree
// on that, so there keys are literals, and such a text cannot be prepared.
//
// An INSERT after EXPLAIN gets any value for its key, and no key is drawn. After
// EXPLAIN ANALYZE it runs, and is filled like any other.
//
// # Filled twice
//
// A filled text that keyfill gets once more, as with one mount inside another, is kept.
// Its bound keys are looked at when it is executed, as the caller's own would be, and
// none of them counts as "no key"; they are not looked at in LAST_INSERT_ID(key), where
// neither NULL nor zero counts as "no key", and where a query or MERGE gives them as a
// column.
//
// # Caveats
//
// The bodies of CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT and RULE are passed,
// and so is SQL in strings (EXECUTE, DO), but for MySQL's PREPARE. A name is
// compared as it stands: a view, a synonym or a partition is another table.
//
// sql_mode, standard_conforming_strings and QUOTED_IDENTIFIER change where strings
// and names end. If keyfill does not know them, it refuses the texts that need them
// with [ErrSettings].
package rewrite
