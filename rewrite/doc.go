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
// INSERT … SELECT, MERGE, COPY, LOAD DATA, BULK INSERT, INSERT ALL, PREPARE,
// OUTPUT … INTO and blocks are refused on a configured table unless the INSERT
// in them brings its keys: names their columns, and no placeholder, NULL or
// DEFAULT stands there.
//
// # Several statements
//
// A text is filled as a whole or refused. An INSERT is refused behind a statement
// that may change how it is read or whether it runs, and how often: one that is
// not known, SET sql_mode and character sets, QUOTED_IDENTIFIER, a block, IF and
// RETURN. Arguments are counted over the whole text; SQLite's drivers do not
// agree on that, so there keys are literals, and such a text cannot be prepared:
// [Plan.Unbound]. What the engine answers belongs to an INSERT that is
// [Plan.Alone].
//
// Behind EXPLAIN an INSERT is [Insert].Explained: any value does for its key,
// none has to be drawn. One that runs, behind ANALYZE, is an INSERT like others.
//
// # Caveats
//
// The bodies of CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT and RULE are passed,
// and so is SQL in strings (EXECUTE, DO), but for MySQL's PREPARE. A name is
// compared as it stands: a view, a synonym or a partition is another table, and
// a temporary table of the same name is not.
//
// Texts are read under the settings that package dialect names. Under
// NO_BACKSLASH_ESCAPES or with standard_conforming_strings off, a backslash in
// front of a quote would have to be read otherwise.
package rewrite
