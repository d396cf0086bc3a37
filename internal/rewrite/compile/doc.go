// Package compile makes the plan of a text:
//
//	plan := compile.Query(dialect.PostgreSQL(), lookup, query)
//	switch plan.Action { … } // pass, keep, fill or refuse
//
// It reads the statements of the text. Each form besides a plain INSERT has a file: MERGE,
// INSERT ALL, COPY, LOAD DATA, INSERTBULK, WITH, EXPLAIN, PREPARE, SET STATEMENT, blocks
// and definitions. multistatement.go decides after which statements an INSERT can no longer
// be filled. Package rewrite describes the forms that are filled, and the reasons for a
// refusal.
//
// A plan is decided from the text alone, so the same text always gives the same plan.
// [Query] reads a text under the settings of the dialect; [Readings] is for a session whose
// settings are not known, and [QueryWithTemporary] for a session that has temporary tables.
//
// Package compile builds on package inserts and all packages that inserts uses.
package compile
