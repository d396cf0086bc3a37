// Package rewrite turns the text of a query into a plan: which INSERT in it
// lacks a key, where in the text and among the arguments the key belongs, or
// why it cannot be put there exactly.
//
// A [Plan] is made once per text by [Compile] and used for every execution:
//
//	plan := rewrite.Compile(dialect.PostgreSQL(), lookup, query)
//	holes, err := plan.Holes(args)                 // how many keys it takes
//	query, args, err = plan.Bind(args, holes, keys) // the statement to send
//
// The text sent is the text received, byte for byte, except for the spans that
// have to change: nothing is ever printed from a tree. A plan decides from the
// text alone, so the same text always gives the same plan; what depends on a
// bound value is decided by [Plan.Holes].
//
// # What is recognized
//
// One INSERT or REPLACE statement in a text, with comments around it and a
// semicolon behind it:
//
//	insert  = [ WITH ctes ] verb { modifier } [ INTO ] table
//	          [ "(" [ column { "," column } ] ")" ] body tail
//	verb    = INSERT | REPLACE
//	body    = ( VALUES | VALUE ) row { "," row }
//	        | DEFAULT VALUES
//	        | SET column "=" value { "," column "=" value }
//	row     = [ ROW ] "(" [ value { "," value } ] ")"
//	value   = any tokens with balanced brackets and no comma outside of them
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
//
// # Caveats
//
// The bodies of CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT and RULE and SQL in
// strings (EXECUTE, DO) are passed. INSERT … SELECT without the key in its
// column list, several statements in one text, MERGE, COPY, LOAD DATA, INSERT
// ALL, EXPLAIN, PREPARE and data-modifying WITH are refused on a configured
// table.
package rewrite
