// Package inserts reads one INSERT, and notes in a draft what has to change in it. Each
// form has a file:
//
//	values.go          VALUES
//	set.go             SET of MySQL
//	defaultvalues.go   DEFAULT VALUES
//	select.go          INSERT … SELECT, whose rows the engine numbers
//	selectrows.go      SELECTs without FROM, which are one row each
//	valuesquery.go     a row of VALUES that may be a set of rows
//	columns.go         the column list
//	clauses.go         upsert clauses, RETURNING and OPTION
//	cutclause.go       upsert clauses that are cut from the text
//	scope.go           keys that are numbered within other columns
//	inner.go           an INSERT inside another statement
//	table.go           which table a name means
//
// Package inserts builds on packages plans, selects, effects and reader.
package inserts

//row:changes | a form of INSERT | `internal/rewrite/inserts`, with a case in `testdata`; MERGE, COPY: `internal/rewrite/compile`
